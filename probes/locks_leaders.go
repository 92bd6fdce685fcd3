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
// whole group. A worker for which two such backends stand is left alone.
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
		return
	}
	answers := map[int][]int{}
	for i := range l.Waits {
		answers[l.Waits[i].PID] = blockerSet(l.Waits[i].Blockers)
	}
	leader := map[int]int{} // worker → leader, 0: more than one stands for it
	for rows.Next() {
		if rows.Int(0) == 0 {
			continue
		}
		pid, by := rows.Int(1), blockerSet(rows.Ints(2))
		for i := range l.Procs {
			p := &l.Procs[i]
			if p.Kind != KindMasked || !slices.Contains(waiting, p.PID) || !slices.Equal(answers[p.PID], by) {
				continue
			}
			if _, twice := leader[p.PID]; twice {
				pid = 0
			}
			leader[p.PID] = pid
		}
	}
	var missing []int
	for i := range l.Procs {
		p := &l.Procs[i]
		switch pid, worker := leader[p.PID]; {
		case worker && pid == 0:
			l.Unled = append(l.Unled, p.PID)
		case worker:
			p.LeaderPID = pid
			missing = append(missing, pid)
		}
	}
	_ = r.describe(ctx, l, missing) // without it the leader is a pid only
}

func blockerSet(pids []int) []int {
	out := slices.Clone(pids)
	slices.Sort(out)
	return slices.Compact(out)
}
