package probes

import (
	"context"
	"fmt"
	"slices"
	"time"
)

// detailAgain is how long lock entries stand for answers that do not change.
// Only what a session does within one statement escapes that: to wait for
// another lock, of the same kind, that the same sessions hold.
const detailAgain = 3 * time.Second

// dearAgain is detailAgain for entries that are dear to read.
const dearAgain = 10 * time.Second

// unchanged says whether the answers in l are those that the entries at hand, of
// less than an age, explain: the same sessions, in the same statements, wait for the
// same. A prepared transaction has no identity there, and who has no blockers is
// about to run.
func (r *lockReader) unchanged(l *Locks, most time.Duration) bool {
	old := r.detail
	if old == nil || r.rows == nil || !old.DetailAt.Equal(r.detailAt) {
		return false
	}
	if age := l.At.Sub(r.detailAt); age < 0 || age >= most {
		return false
	}
	if len(l.Waits) != len(old.Waits) || len(l.Waits) < l.Waiting || len(l.Procs) != len(old.Procs) {
		return false
	}
	waits := make(map[int]*LockWait, len(old.Waits))
	for i := range old.Waits {
		waits[old.Waits[i].PID] = &old.Waits[i]
	}
	for i := range l.Waits {
		w := &l.Waits[i]
		o := waits[w.PID]
		if o == nil || o.LockType != w.LockType || len(w.Blockers) == 0 || slices.Contains(w.Blockers, 0) || !slices.Equal(o.Blockers, w.Blockers) {
			return false
		}
	}
	procs := make(map[int]*Session, len(old.Procs))
	for i := range old.Procs {
		procs[old.Procs[i].PID] = &old.Procs[i]
	}
	for i := range l.Procs {
		p := &l.Procs[i]
		o := procs[p.PID]
		if o == nil || !o.BackendStart.Equal(p.BackendStart) || !o.XactStart.Equal(p.XactStart) ||
			!o.QueryStart.Equal(p.QueryStart) || !o.StateChange.Equal(p.StateChange) {
			return false
		}
	}
	return true
}

// edges reads answers into l, and facts about everybody involved. With no limit
// only pids are asked for. Who blocks is known only from the answers: blockers
// that neither wait nor blocked the last time cost a second round trip, and so do
// leaders that wait through their workers only.
func (r *lockReader) edges(ctx context.Context, l *Locks, limit int, pids, describe []int) error {
	l.Procs, l.Waits, l.SafeSnapshots = nil, nil, nil
	if err := r.ask(ctx, l, limit, pids, append(slices.Clone(describe), r.roots...)); err != nil {
		return err
	}
	involved := map[int]bool{}
	for _, pid := range describe {
		involved[pid] = true
	}
	var blockers []int
	for i := range l.Waits {
		involved[l.Waits[i].PID] = true
	}
	for i := range l.Waits {
		for _, b := range l.Waits[i].Blockers {
			if b != 0 && !involved[b] {
				involved[b] = true
				blockers = append(blockers, b)
			}
		}
	}
	for i := range l.SafeSnapshots {
		for _, b := range l.SafeSnapshots[i].Blockers {
			if b != 0 && !involved[b] {
				involved[b] = true
				blockers = append(blockers, b)
			}
		}
	}
	for _, pid := range l.leading() {
		if !involved[pid] {
			involved[pid] = true
			blockers = append(blockers, pid)
		}
	}
	if err := r.describe(ctx, l, blockers); err != nil {
		return err
	}
	l.Procs = slices.DeleteFunc(l.Procs, func(p Session) bool {
		return !involved[p.PID] && p.WaitEventType != "Lock" && p.WaitEvent != "SafeSnapshot" &&
			(p.Kind != "parallel worker" || !involved[p.LeaderPID])
	})
	r.roots = blockers
	return nil
}

// leading are the leaders of the parallel workers that wait: these may wait for
// nothing but their workers.
func (l *Locks) leading() []int {
	var out []int
	for i := range l.Procs {
		if p := &l.Procs[i]; p.Kind == "parallel worker" && p.LeaderPID != 0 && p.WaitEventType == "Lock" {
			out = append(out, p.LeaderPID)
		}
	}
	return out
}

// describe reads facts about those of pids that l has none of. Our own backends
// stay out of it.
func (r *lockReader) describe(ctx context.Context, l *Locks, pids []int) error {
	skip := map[int]bool{}
	for _, pid := range r.own() {
		skip[pid] = true
	}
	for i := range l.Procs {
		skip[l.Procs[i].PID] = true
	}
	missing := slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { return skip[pid] })
	if len(missing) == 0 {
		return nil
	}
	more := &Locks{}
	if err := r.ask(ctx, more, 0, nil, missing); err != nil {
		return err
	}
	more.Procs = slices.DeleteFunc(more.Procs, func(p Session) bool {
		return !slices.Contains(missing, p.PID) && (p.Kind != "parallel worker" || !slices.Contains(missing, p.LeaderPID))
	})
	l.addProcs(more.Procs)
	return nil
}

// addProcs adds those that are not there.
func (l *Locks) addProcs(procs []Session) {
	known := make(map[int]bool, len(l.Procs))
	for i := range l.Procs {
		known[l.Procs[i].PID] = true
	}
	for _, p := range procs {
		if !known[p.PID] {
			l.Procs = append(l.Procs, p)
		}
	}
}

// ask runs the statement behind edges once and adds what it says to l.
func (r *lockReader) ask(ctx context.Context, l *Locks, limit int, pids, describe []int) error {
	rows, err := r.run(ctx, r.timeout, "locks_edges", storm, limit, pids, describe, lockQueryBytes, r.own())
	if err != nil {
		return fmt.Errorf("reading lock waits: %w", err)
	}
	for rows.Next() {
		if rows.Int(0) == 0 {
			if n := rows.Int(1); n >= storm {
				return errStorm(n)
			}
			l.At, l.Waiting = rows.Time(12), max(l.Waiting, rows.Int(18))
			continue
		}
		p := r.proc(rows)
		if p.Kind != "" {
			l.Procs = append(l.Procs, p)
		}
		if !rows.Null(20) {
			l.Waits = append(l.Waits, LockWait{PID: p.PID, LockType: lockType(p), Blockers: rows.Ints(20)})
		}
		if b := rows.Ints(21); len(b) > 0 {
			l.SafeSnapshots = append(l.SafeSnapshots, SafeSnapshotWait{PID: p.PID, Blockers: b})
		}
	}
	return nil
}

func lockRow(r *Rows) LockRow {
	return LockRow{
		Tag: LockTag{
			Type: r.Text(1), Database: r.OID(2), Relation: r.OID(3),
			// page is a uint32 shown as int4, tuple a uint16 shown as int2
			Page: uint32(r.Int64(4)), Tuple: uint16(r.Int64(5)),
			VXID: r.Text(6), XID: r.OID(7), ClassID: r.OID(8), ObjID: r.OID(9), ObjSubID: uint16(r.Int64(10)),
		},
		VXID: r.Text(11), PID: r.Int(12), Mode: ParseLockMode(r.Text(13)), Granted: r.Bool(14), FastPath: r.Bool(15), WaitStart: r.Time(16),
	}
}

func lockType(p Session) string {
	if p.WaitEventType == "Lock" {
		return p.WaitEvent
	}
	return ""
}

func (r *lockReader) proc(rows *Rows) Session {
	db, role := rows.OID(2), rows.OID(3)
	query := rows.Bytea(19)
	clipped := len(query) < rows.Int(18)
	if clipped {
		query = trimPartial(query)
	}
	database, user := r.name(db, role)
	return Session{
		PID: rows.Int(1), DatabaseOID: db, UserOID: role, Database: database, User: user, App: rows.Text(4), Kind: rows.Text(5),
		LeaderPID: rows.Int(6), State: rows.Text(7), Addr: rows.Text(8), Port: max(0, rows.Int(9)),
		WaitEventType: rows.Text(10), WaitEvent: rows.Text(11),
		BackendStart: rows.Time(12), XactStart: rows.Time(13), QueryStart: rows.Time(14), StateChange: rows.Time(15),
		XID: rows.Text(16), XMin: rows.Text(17), QueryClipped: clipped, Query: rows.enc.decode(db, query),
	}
}
