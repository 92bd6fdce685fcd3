package waits_test

import (
	"fmt"
	"time"
)

// circling is a round about a circle that closes through a queue: the one who has a table
// wants what another has, who stands in the table's queue. The deadlock detector moves
// that one to the front between the reading and the end of one of them.
func (r *races) circling(all []*racer) {
	for _, x := range all {
		r.do(all, x, "set local deadlock_timeout = '400ms'; select pg_advisory_xact_lock("+fmt.Sprint(x.pg.PID())+")")
	}
	has, queued, rest := all[0], all[1], all[2:]
	mode := func(of ...string) string { return "lock table r in " + r.pick(of...) + " mode" }
	r.do(all, has, mode("row exclusive", "row share", "share"))
	more := func() {
		for range r.rng.IntN(3) {
			if x := rest[r.rng.IntN(len(rest))]; x.finished() {
				r.do(all, x, mode("access share", "row share", "row exclusive", "share", "exclusive", "access exclusive"))
			}
		}
	}
	more()
	if x := rest[0]; x.finished() {
		r.do(all, x, mode("share row exclusive", "exclusive", "access exclusive"))
	}
	more()
	r.do(all, queued, mode("row share", "row exclusive", "share"))
	more()
	if queued.finished() {
		return
	}
	r.do(all, has, fmt.Sprintf("select pg_advisory_xact_lock(%d)", queued.pg.PID()))
	f := r.forest()
	if f == nil || len(f.Cycles) != 1 || f.Cycles[0].Hard {
		return
	}
	r.circles++
	who := f.Cycles[0].Members[r.rng.IntN(len(f.Cycles[0].Members))]
	if trees := f.Trees; len(trees) > 0 && r.rng.IntN(2) == 0 {
		who = trees[0].Root.Key
	}
	r.endAfter(time.Duration(r.rng.IntN(2))*600*time.Millisecond, all, f, who)
	end := f.WhatIf(who)
	for _, k := range end.Frees[:end.Direct] {
		for _, x := range all {
			if int(x.pg.PID()) == k.PID && !x.finished() {
				r.t.Errorf("ending %v: %v was promised to run, and waits\n%s", who, k, texts(all))
			}
		}
	}
}
