package probes

import (
	"context"
	"slices"
	"strings"
	"time"
)

// mostDelays commands are asked for what holds them up.
const mostDelays = 4

// mostLockers is the limit of that statement.
const mostLockers = 100

// delayed is what the last pass over the lock table said of what holds a command up.
type delayed struct {
	of      Progress // as it was then, without the lockers
	lockers []int
	later   []int
	known   bool
}

// delays names the transactions that CREATE INDEX CONCURRENTLY and REINDEX
// CONCURRENTLY wait for one after the other: the lock table shows one. The server
// counts them and does not tell them; they are those with a lock in the way on the
// table, or with a snapshot in the database, from the oldest on. Best effort. Where a
// pass over the lock table is dear, what it said stands while the command waits for
// the same one, and the passes are rationed.
func (r *lockReader) delays(ctx context.Context, l *Locks) {
	var now []delayed
	asked, age := 0, l.At.Sub(r.delayedAt)
	rationed := r.took >= cheapDetail && age >= 0 && age < detailShare*r.took
	for i := range l.Progress {
		p := &l.Progress[i]
		left, next := p.LockersTotal-p.LockersDone, waitsAgain(p)
		if left < 1 || left < 2 && next == never && !strings.HasPrefix(p.Phase, "waiting for writers") || asked == mostDelays {
			continue
		}
		asked++
		d := delayed{of: *p}
		if j := slices.IndexFunc(r.delayed, d.same); j >= 0 {
			d = r.delayed[j]
		}
		table, all := delayedBy(p)
		if table == 0 || !rationed {
			r.delay(ctx, l.At, &d, table, all)
		}
		if d.lockers != nil {
			p.Lockers, p.Later, p.LockersKnown = slices.Clone(d.lockers), slices.Clone(d.later), d.known
			now = append(now, d)
			_ = r.describe(ctx, l, slices.Concat(p.Lockers, p.Later)) // without it they are pids only
		}
	}
	r.delayed = now
}

// same reports whether e is about the same wait of the same command.
func (d delayed) same(e delayed) bool {
	a, b := d.of, e.of
	return a.PID == b.PID && a.Phase == b.Phase && a.Relation == b.Relation && a.LockersTotal == b.LockersTotal && a.LockersDone == b.LockersDone && a.CurrentLocker == b.CurrentLocker
}

// delay makes a pass for d, and leaves it as it is when that fails.
func (r *lockReader) delay(ctx context.Context, at time.Time, d *delayed, table uint32, all int) {
	p := &d.of
	next, others, snapshots := waitsAgain(p), 0, 0
	if next == forAny {
		others = 1
	}
	if strings.HasPrefix(p.Phase, "waiting for writers") { // old snapshots come after them
		snapshots = 1
	}
	rows, err := r.run(ctx, nameTimeout, "locks_delay", storm, p.PID, p.Database, table, all, r.own(), others, snapshots)
	if err != nil {
		return
	}
	if table != 0 && !at.Equal(r.delayedAt) {
		r.delayedAt = at
		if r.took >= cheapDetail {
			r.looked = r.looked.Add(detailShare * r.took) // all passes have a share of the core together
		}
	}
	d.lockers, d.later, d.known = []int{}, nil, rows.Len() < mostLockers
	for rows.Next() {
		if rows.Null(0) || rows.Null(1) {
			d.known = false
			continue
		}
		if pid := rows.Int(0); rows.Bool(2) || pid == p.CurrentLocker {
			d.lockers = append(d.lockers, pid)
		} else {
			d.later = append(d.later, pid)
		}
	}
	if i := slices.Index(d.lockers, p.CurrentLocker); i >= 0 {
		d.lockers = append([]int{p.CurrentLocker}, slices.Delete(d.lockers, i, i+1)...)
	}
	n := min(len(d.lockers), p.LockersTotal-p.LockersDone)
	if next != never {
		d.later = append(d.later, d.lockers[n:]...)
	}
	d.lockers = d.lockers[:n]
}

// For whom a command waits again in a later phase of those who have a lock on its table.
const (
	never = iota
	forWriters
	forAny
)

// waitsAgain is for whom p waits again once those are over that it waits for now: who
// has come since it began to wait is not among these.
func waitsAgain(p *Progress) int {
	reindex := strings.HasPrefix(p.Command, "REINDEX")
	switch p.Phase {
	case "waiting for writers before build":
		if reindex {
			return forAny
		}
		return forWriters
	case "waiting for writers before validation":
		if reindex {
			return forAny
		}
	case "waiting for readers before marking dead":
		return forAny
	}
	return never
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
