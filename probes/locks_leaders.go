package probes

import (
	"context"
	"slices"
)

// mostLeaders backends are asked at most whether a worker of theirs waits.
const mostLeaders = 200

// lead finds the leaders of parallel workers that wait, where activity hides who
// works for whom: a backend that is blocked and does not wait itself has a worker
// that does, and both have the same blockers, for the server answers for the
// whole group, of which other workers may be at work, too. A worker of which that does
// not tell whose it is is left alone; where it could not be asked, each of them may be one.
func (r *lockReader) lead(ctx context.Context, l *Locks) {
	waiting := []int{}
	for i := range l.Rows {
		if !l.Rows[i].Granted && l.Rows[i].PID != 0 {
			waiting = append(waiting, l.Rows[i].PID)
		}
	}
	if len(waiting) == 0 || !slices.ContainsFunc(l.Procs, func(p Session) bool { return p.Kind == KindMasked && slices.Contains(waiting, p.PID) }) {
		return
	}
	rows, err := r.run(ctx, nameTimeout, "locks_leaders", storm, waiting, mostLeaders)
	if err != nil {
		rows = &Rows{}
	}
	answers := map[int][]int{}
	for i := range l.Waits {
		answers[l.Waits[i].PID] = blockerSet(l.Waits[i].Blockers)
	}
	var behind []blockedBackend
	client := map[int]bool{} // of those who wait
	asked := false
	for rows.Next() {
		switch b := (blockedBackend{pid: rows.Int(1), by: blockerSet(rows.Ints(2)), client: rows.Bool(3), known: !rows.Null(3)}); {
		case rows.Int(0) == 0:
			asked = rows.Int(1) < storm
		case len(b.by) > 0:
			behind = append(behind, b)
		case b.client:
			client[b.pid] = true
		}
	}
	var missing []int
	for i := range l.Procs {
		p := &l.Procs[i]
		if p.Kind != KindMasked || !slices.Contains(waiting, p.PID) || client[p.PID] {
			continue
		}
		switch pid, group := leaderOf(p.PID, answers[p.PID], behind); {
		case pid != 0:
			p.LeaderPID = pid
			missing = append(missing, pid)
		case group, !asked:
			l.Unled = append(l.Unled, p.PID)
		}
	}
	_ = r.describe(ctx, l, missing) // without it the leader is a pid only
}

// blockedBackend is blocked, as the server says, and does not wait itself.
type blockedBackend struct {
	pid           int
	by            []int
	client, known bool // whether it is a client's, if that is known
}

// leaderOf is the one of behind for whom a waiter with this answer works, 0 not known;
// group: it is one of several, whoever leads them. Where clients are known the only
// client of them leads. Else who is there alone does if it is older than its worker, as
// pids go: it might be a worker at work whose leader waits; and so might one of two.
func leaderOf(waiter int, answer []int, behind []blockedBackend) (leader int, group bool) {
	n := 0
	for i := range behind {
		b := &behind[i]
		if !slices.Equal(b.by, answer) {
			continue
		}
		group = true
		if !b.known || b.client {
			n++
			if leader = b.pid; !b.known && b.pid > waiter {
				n++
			}
		}
	}
	if n != 1 {
		leader = 0
	}
	return leader, group
}

func blockerSet(pids []int) []int {
	out := slices.Clone(pids)
	slices.Sort(out)
	return slices.Compact(out)
}
