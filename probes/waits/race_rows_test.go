package waits_test

import "fmt"

// several is a round about statements that want more than one row or key: some have rows
// and keys of two tables, who wants several comes to one of these first, and may stop at
// another next. Then one of those that have some ends.
func (r *races) several(all []*racer) {
	const most = 3
	for _, x := range all[:2+r.rng.IntN(most-1)] {
		for range 1 + r.rng.IntN(3) {
			if x.finished() {
				r.do(all, x, r.take())
			}
		}
	}
	for range 1 + r.rng.IntN(4) {
		if x := all[most+r.rng.IntN(len(all)-most)]; x.finished() {
			r.do(all, x, r.wantSeveral())
		}
	}
	if f := r.forest(); f != nil && len(f.Trees) > 0 {
		r.many++
		r.endOf(all, f, f.Trees[r.rng.IntN(len(f.Trees))].Root.Key)
	}
}

// take takes a row or a key, at times in a subtransaction.
func (r *races) take() string {
	save := []string{"", fmt.Sprintf("savepoint s%d; ", r.rng.IntN(100))}[r.rng.IntN(2)]
	return save + r.pick(
		fmt.Sprintf("update r set v = v + 1 where id = %d", r.one()),
		fmt.Sprintf("delete from r where id = %d", r.one()),
		fmt.Sprintf("select * from r where id = %d for update", r.one()),
		fmt.Sprintf("insert into two values (%d, %d)", r.one(), r.one()),
		"update part set id = id where id = "+r.pick("1", "11"),
	)
}

// wantSeveral wants several rows or keys, or one of them.
func (r *races) wantSeveral() string {
	return r.pick(
		fmt.Sprintf("update r set v = v + 1 where id = %d", r.one()),
		fmt.Sprintf("insert into r values (%d, 1)", r.one()),
		"update r set v = v + 1",
		fmt.Sprintf("update r set v = v + 1 where id in (%d, %d)", r.one(), r.one()),
		"select * from r where id < 4 order by id for update",
		"select * from r where id < 4 order by id desc for update",
		"delete from r where v >= 0",
		"delete from part", "select from part for update", "update r set v = part.id from part",
		fmt.Sprintf("insert into two values (%d, %d)", r.one(), r.one()),
		fmt.Sprintf("insert into two values (%d, %d) on conflict do nothing", r.one(), r.one()),
		fmt.Sprintf("insert into two values (%d, %d), (%d, 4) on conflict do nothing", r.one(), r.one(), 4+r.one()),
		"insert into two select g, g from generate_series(1, 3) g",
		fmt.Sprintf("update r set id = %d where id = %d", r.one(), r.one()),
	)
}

func (r *races) pick(of ...string) string { return of[r.rng.IntN(len(of))] }

func (r *races) one() int { return 1 + r.rng.IntN(3) }
