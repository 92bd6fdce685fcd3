package waits_test

import "fmt"

// tables is a round about statements that want several tables, by name, by a view, by a
// partitioned table or a foreign key: some have tables, others want some. Then one ends.
func (r *races) tables(all []*racer) {
	const most = 4
	names := []string{"r", "u", "kid", "part", "part1", "part2"}
	for _, x := range all[:2+r.rng.IntN(most-1)] {
		for range 1 + r.rng.IntN(2) {
			if x.finished() {
				r.do(all, x, "lock table only "+r.pick(names...)+" in "+r.pick("access share", "row exclusive", "share", "exclusive", "access exclusive")+" mode")
			}
		}
	}
	for range 1 + r.rng.IntN(4) {
		if x := all[most+r.rng.IntN(len(all)-most)]; x.finished() {
			r.do(all, x, r.wantTables())
		}
	}
	if f := r.forest(); f != nil && len(f.Trees) > 0 {
		r.about++
		r.endOf(all, f, f.Trees[r.rng.IntN(len(f.Trees))].Root.Key)
	}
}

func (r *races) wantTables() string {
	return r.pick(
		"select from r", "select from u", "select from part", "select from part1", "select from r, u", "select from seen",
		"select from kid join r on r.id = kid.r",
		fmt.Sprintf("insert into kid values (%d)", r.one()),
		fmt.Sprintf("delete from r where id = %d", 3+r.one()),
		"update part set id = id", "update u set id = id",
		"truncate u, kid", "drop view seen", "drop table kid",
		"alter table part add column z int", "alter table r add column z int", "alter table u add foreign key (id) references r",
		"create index on u (id)", "lock table u, kid", "lock table seen in share mode",
	)
}
