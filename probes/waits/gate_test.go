package waits_test

import (
	"fmt"
	"strings"

	"github.com/pgsonde/pgsonde/probes/waits"
)

// gate is a round about a table: one has a strong lock of it, or waits for one behind
// those who have read it or have rows of it, and others want it. Then that one ends.
func (r *races) gate(all []*racer) {
	first, gate, rest := all[0], all[1], all[2:]
	modes := []string{"share", "share row exclusive", "exclusive", "access exclusive"}
	if r.rng.IntN(2) == 0 {
		r.do(all, first, []string{"select * from r", "update r set v = v + 1 where id = 1", "select * from r for key share", "lock table r in share update exclusive mode"}[r.rng.IntN(4)])
	}
	for _, x := range rest[:r.rng.IntN(3)] {
		r.do(all, x, []string{"select * from r", r.share()}[r.rng.IntN(2)])
	}
	r.do(all, gate, "lock table r in "+modes[r.rng.IntN(len(modes))]+" mode")
	for _, x := range rest[:1+r.rng.IntN(len(rest))] {
		if x.finished() {
			r.do(all, x, r.wantTable())
		}
	}
	if f := r.forest(); f != nil && f.Node(waits.Key{PID: int(gate.pg.PID())}) != nil {
		r.gates++
		r.endOf(all, f, waits.Key{PID: int(gate.pg.PID())})
	}
}

// wantTable is what one of them does with the table.
func (r *races) wantTable() string {
	row := 1 + r.rng.IntN(3)
	switch r.rng.IntN(8) {
	case 0:
		return "select * from r"
	case 1:
		return fmt.Sprintf("update r set v = v + 1 where id in (%d, 1)", row)
	case 2:
		return fmt.Sprintf("insert into r values (%d, 0)", 10+row)
	case 3:
		return "lock table r in share update exclusive mode"
	case 4:
		return fmt.Sprintf("insert into item(r) values (%d)", row)
	case 5:
		return r.share()
	case 6:
		return fmt.Sprintf("select * from r where id = %d for update", row)
	}
	return fmt.Sprintf("update r set v = v + 1 where id = %d", row)
}

func texts(all []*racer) string {
	var sb strings.Builder
	for _, x := range all {
		fmt.Fprintf(&sb, "%d %s: finished %v, %v\n", x.pg.PID(), strings.Join(x.did[1:], "; "), x.finished(), x.err)
	}
	return sb.String()
}
