package probes

import (
	"context"
	"slices"
)

// mostDelays commands are asked for what holds them up.
const mostDelays = 4

// mostLockers is the limit of that statement.
const mostLockers = 100

// delays names the transactions that CREATE INDEX CONCURRENTLY and REINDEX
// CONCURRENTLY wait for one after the other: the lock table shows one. The server
// counts them and does not tell them; they are those with a lock in the way on the
// table, or with a snapshot in the database, from the oldest on. Best effort, and
// not where a pass over the lock table is dear.
func (r *lockReader) delays(ctx context.Context, l *Locks) {
	asked := 0
	for i := range l.Progress {
		p := &l.Progress[i]
		left := p.LockersTotal - p.LockersDone
		if left < 2 || asked == mostDelays {
			continue
		}
		table, all := delayedBy(p)
		if table != 0 && r.took >= cheapDetail {
			continue
		}
		asked++
		rows, err := r.run(ctx, nameTimeout, "locks_delay", storm, p.PID, p.Database, table, all, r.own())
		if err != nil {
			continue
		}
		p.LockersKnown = rows.Len() < mostLockers
		for rows.Next() {
			if rows.Null(0) || rows.Null(1) {
				p.LockersKnown = false
				continue
			}
			p.Lockers = append(p.Lockers, rows.Int(0))
		}
		if i := slices.Index(p.Lockers, p.CurrentLocker); i >= 0 {
			p.Lockers = append([]int{p.CurrentLocker}, slices.Delete(p.Lockers, i, i+1)...)
		}
		p.Lockers = p.Lockers[:min(len(p.Lockers), left)]
		_ = r.describe(ctx, l, p.Lockers) // without it they are pids only
	}
}

// delayedBy is the table whose lockers are in the way in this phase, with any lock or
// with one that keeps an index from being built; no table where it is who has an old
// snapshot.
func delayedBy(p *Progress) (table uint32, all int) {
	switch p.Phase {
	case "waiting for old snapshots":
		return 0, 0
	case "waiting for readers before marking dead", "waiting for readers before dropping":
		return p.Relation, 1
	}
	return p.Relation, 0
}
