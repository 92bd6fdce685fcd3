package waits_test

import "fmt"

// sharing is a round about rows that several share-lock, who may have written or locked
// other rows of the table, before or after that, or the same one; others want these rows. Then
// one of those ends. The rows from 101 on are each one's own.
func (r *races) sharing(all []*racer) {
	const most = 4
	for i, x := range all[:2+r.rng.IntN(most-1)] {
		steps := []string{r.hold(), r.own(i)}
		r.rng.Shuffle(len(steps), func(a, b int) { steps[a], steps[b] = steps[b], steps[a] })
		for _, sql := range steps {
			if sql != "" && x.finished() {
				r.do(all, x, sql)
			}
		}
	}
	for range 1 + r.rng.IntN(3) {
		if x := all[most+r.rng.IntN(len(all)-most)]; x.finished() {
			r.do(all, x, r.wantRow())
		}
	}
	if f := r.forest(); f != nil && len(f.Trees) > 0 {
		r.shared++
		r.endOf(all, f, f.Trees[r.rng.IntN(len(f.Trees))].Root.Key)
	}
}

// hold takes one of the rows that others take or want, too.
func (r *races) hold() string {
	if row := r.row(); r.rng.IntN(4) == 0 {
		return fmt.Sprintf("update r set v = v + 1 where id = %d", row)
	}
	return r.share()
}

// own takes rows of the same table that nobody else wants, "" none.
func (r *races) own(i int) string {
	a, b := 101+2*i, 102+2*i
	switch r.rng.IntN(4) {
	case 0:
		return fmt.Sprintf("update r set v = v + 1 where id in (%d, %d)", a, b)
	case 1:
		return fmt.Sprintf("select * from r where id = %d for update", a)
	case 2:
		return fmt.Sprintf("insert into item(r) values (%d)", a) // its trigger writes the row
	}
	return ""
}

// wantRow wants one row.
func (r *races) wantRow() string {
	row := r.row()
	switch r.rng.IntN(8) {
	case 0, 1:
		return fmt.Sprintf("delete from r where id = %d", row)
	case 2:
		return fmt.Sprintf("update r set id = id + 10 where id = %d", row)
	case 3:
		return fmt.Sprintf("select * from r where id = %d for update", row)
	case 4:
		return fmt.Sprintf("select * from r where id = %d for no key update", row)
	case 5:
		return r.share()
	case 6:
		return fmt.Sprintf("insert into item(r) values (%d)", row)
	}
	return fmt.Sprintf("update r set v = v + 1 where id = %d", row)
}

// row is one that many want.
func (r *races) row() int { return 1 + r.rng.IntN(3)/2 }
