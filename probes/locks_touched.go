package probes

import (
	"context"
	"slices"
	"time"
)

// mostTouched sessions and tables are looked at to say what waits for
// transactions are about.
const mostTouched = 40

// touched is the last reading of relation locks that tell what waits for
// transactions are about, and for which waits it was made.
type touched struct {
	rows []LockRow
	of   []touchedWait
	at   time.Time
}

// touchedWait is a wait for a transaction, with the row it is about if it has one.
type touchedWait struct {
	pid int
	xid uint32
	row LockTag
}

// touch adds the relation locks that tell what waits for transactions are about.
// That is another pass over the lock table: made when these waits are others, or
// the last pass is old, and the table is not dear.
func (r *lockReader) touch(ctx context.Context, l *Locks) {
	waits := xidWaits(l.Rows)
	if len(waits) == 0 {
		r.touched = touched{at: r.touched.at} // a pass is as dear as before
		l.Untouched = slices.ContainsFunc(l.Waits, func(w LockWait) bool { return w.LockType == "transactionid" })
		return
	}
	age := l.At.Sub(r.touched.at)
	if slices.Equal(waits, r.touched.of) && age >= 0 && age < max(detailAgain, detailShare*r.took) {
		l.Touched = r.touched.rows
		return
	}
	l.Untouched = true
	if r.took >= cheapDetail && age >= 0 && age < detailShare*r.took {
		return
	}
	pids, tables, keys := touchedBy(l.Rows, waits)
	rows, err := r.run(ctx, nameTimeout, "locks_touched", storm, pids, tables, keys)
	if err != nil {
		return
	}
	r.touched = touched{of: waits, at: l.At}
	if r.took >= cheapDetail {
		r.looked = r.looked.Add(detailShare * r.took) // both passes have a share of the core together
	}
	for rows.Next() {
		if rows.Int(0) != 0 {
			r.touched.rows = append(r.touched.rows, lockRow(rows))
		}
	}
	l.Touched, l.Untouched = r.touched.rows, false
}

// xidWaits are the waits for transactions, each with the row whose lock its
// session holds, in order of the pids.
func xidWaits(rows []LockRow) []touchedWait {
	row := map[int]LockTag{}
	for i := range rows {
		if x := &rows[i]; x.Granted && x.PID != 0 && x.Tag.Type == "tuple" {
			row[x.PID] = x.Tag
		}
	}
	var out []touchedWait
	for i := range rows {
		if x := &rows[i]; !x.Granted && x.Tag.Type == "transactionid" {
			out = append(out, touchedWait{pid: x.PID, xid: x.Tag.XID, row: row[x.PID]})
		}
	}
	slices.SortFunc(out, func(a, b touchedWait) int { return a.pid - b.pid })
	return out[:min(len(out), mostTouched)]
}

// touchedBy are the pids and tables to look at for waits: of a wait without a row
// both sides, and of these who waits, else the row's table.
func touchedBy(rows []LockRow, waits []touchedWait) (pids []int, tables []uint32, keys []int) {
	pids, tables, keys = []int{}, []uint32{}, []int{}
	xids := map[uint32]bool{}
	for _, w := range waits {
		if w.row.Relation != 0 {
			tables = append(tables, w.row.Relation)
			continue
		}
		pids, keys = append(pids, w.pid), append(keys, w.pid)
		xids[w.xid] = true
	}
	for i := range rows {
		if x := &rows[i]; x.Granted && x.Tag.Type == "transactionid" && xids[x.Tag.XID] && x.PID != 0 && len(pids) < 2*mostTouched {
			pids = append(pids, x.PID)
		}
	}
	slices.Sort(tables)
	return pids, slices.Compact(tables), keys
}
