package probes

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"
)

const (
	// lookEvery: activity does not show every waiter (backends that are still
	// connecting, before 18), so the lock table is looked at now and then anyway.
	lookEvery = 15 * time.Second
	// cheapDetail is what a reading of the lock table may take to be made each tick.
	cheapDetail = 10 * time.Millisecond
	// detailShare keeps dearer readings below this share of one core.
	detailShare = 100
	firstShare  = 10
	prepareTime = 20 * time.Millisecond
	// mostAsked waiters are asked for each tick.
	mostAsked = 200
	// longQueue: beyond this many in one queue asking for each costs more than one
	// reading of the whole table.
	longQueue    = 150
	mostDoubtful = 8                    // … and this many are asked for all the same
	nearArrivals = 5 * time.Millisecond // waitstart does not order what is nearer
	// storm: with so many sessions queuing for the lock manager's own latches
	// nobody else should go there.
	storm = 10
	// refusedEvery is when a login that may not read the lock table tries again.
	refusedEvery = time.Minute
	// lockQueryBytes of a query's text come with each process.
	lockQueryBytes = 1000
)

// lockReader reads the lock manager as rarely and as cheaply as the state of
// the server allows. One reading at a time.
type lockReader struct {
	run     func(ctx context.Context, timeout time.Duration, name string, args ...any) (*Rows, error)
	own     func() []int
	name    func(db, role uint32) (database, user string)
	timeout time.Duration

	looked  time.Time     // when the lock table was last read, the server's clock
	took    time.Duration // what that costs: the lesser of the last two times
	before  time.Duration // the last time, as measured
	warm    map[string]bool
	longest int // the longest queue of that reading
	rows    []LockRow
	roots   []int // who blocked without waiting at the last reading: likely to do so still

	refusal   error // why this login may not read the lock table, as said at refusedAt
	refusedAt time.Time

	touched touched

	delayed   []delayed
	delayedAt time.Time

	detailAt time.Time
	last     *Locks
	detail   *Locks // the last whose entries explain its answers
	names    nameCache
}

// errStorm says why the lock manager was left alone.
type errStorm int

func (e errStorm) Error() string {
	return strconv.Itoa(int(e)) + " sessions queue for the lock manager itself: it is left alone"
}

// read makes a reading when there is reason to: nil when nobody waits.
func (r *lockReader) read(ctx context.Context, ask LockAsk) (*Locks, error) {
	blind := ask.Masked || ask.Waiting == 0
	due := ask.Detail || r.due(ask.At, ask.Waiting > 0)
	if blind && !ask.Detail && !ask.Masked && ask.At.Sub(r.looked) < lookEvery {
		r.last, r.rows = nil, nil
		return nil, nil
	}
	if blind && r.refused(ask.At) {
		return r.denied(ask)
	}
	if blind && !due {
		return r.last, nil // its age is shown
	}
	begin := time.Now()
	l, err := r.choose(ctx, ask, blind, due)
	if denied(err) && !blind {
		r.refusal, r.refusedAt = err, ask.At
		l, err = r.choose(ctx, ask, blind, due)
	}
	if err != nil {
		if denied(err) {
			r.refusal, r.refusedAt, r.looked = err, ask.At, ask.At
			return r.denied(ask)
		}
		return nil, err
	}
	if blind && l.Reading == ReadIdle {
		r.last, r.rows = nil, nil
		return nil, nil
	}
	if ask.Masked {
		r.lead(ctx, l)
	}
	r.extras(ctx, l)
	l.Took = time.Since(begin)
	if r.last = l; l.Reading == ReadDetail {
		r.detail = l
	}
	return l, nil
}

// choose reads in the way that fits what is known.
func (r *lockReader) choose(ctx context.Context, ask LockAsk, blind, due bool) (*Locks, error) {
	l := &Locks{}
	switch {
	case blind:
		return l, r.look(ctx, l)
	case r.refused(ask.At):
		r.rows, r.detailAt = nil, time.Time{}
		l.Late, l.Lacks = oneLine(r.refusal), lacks(r.refusal)
		return l, r.answers(ctx, l, false, false)
	case due && ask.Waiting > longQueue && (r.took < cheapDetail || r.longest > longQueue):
		return l, r.whole(ctx, l, r.took < cheapDetail)
	}
	return l, r.answers(ctx, l, due, ask.Detail)
}

// refused says whether this login was lately denied the lock table: a server
// logs each denial.
func (r *lockReader) refused(now time.Time) bool {
	age := now.Sub(r.refusedAt)
	return r.refusal != nil && age >= 0 && age < refusedEvery
}

// denied is the reading of a login that is refused the lock table while activity
// shows no waiter: nobody waits, as far as it tells. Where it is masked nothing is
// known.
func (r *lockReader) denied(ask LockAsk) (*Locks, error) {
	if ask.Masked || ask.Waiting > 0 {
		return nil, r.refusal
	}
	r.last, r.rows = nil, nil
	return &Locks{At: ask.At, Reading: ReadIdle, Late: oneLine(r.refusal), Lacks: lacks(r.refusal)}, nil
}

func denied(err error) bool {
	code, _ := lastPgError(err)
	return err != nil && code == "42501"
}

// lacks is the privilege that a refused statement wants, "" not a matter of one. The
// server names the function in any language.
func lacks(err error) string {
	if !denied(err) {
		return ""
	}
	_, msg := lastPgError(err)
	if name := ownFunction.FindString(msg); name != "" {
		return "execute on function " + name
	}
	return ""
}

var ownFunction = regexp.MustCompile(`\bpg_[a-z0-9_]+`)

// due says whether the lock table may be read again. The first reading after a
// time without waiters comes sooner: without it nobody knows what they wait for.
func (r *lockReader) due(now time.Time, waiting bool) bool {
	share := time.Duration(detailShare)
	if waiting && r.rows == nil {
		share = firstShare
	}
	return r.took < cheapDetail || now.Sub(r.looked) >= share*r.took
}

// cost learns from one reading. Wall time is the server's time and whatever else
// the machine does; the first run of a statement also prepares it.
func (r *lockReader) cost(statement string, took time.Duration) {
	if !r.warm[statement] {
		if r.warm == nil {
			r.warm = map[string]bool{}
		}
		r.warm[statement] = true
		took = max(0, took-prepareTime)
	}
	r.took = took
	if r.before > 0 {
		r.took = min(took, r.before)
	}
	r.before = took
}

// look is for when activity shows no waiter: it streams through the requests
// only, and reads the rest when there are any.
func (r *lockReader) look(ctx context.Context, l *Locks) error {
	if err := r.table(ctx, l, "locks_detail", storm, []int{}, []int{}); err != nil {
		return err
	}
	for i := range l.Rows {
		if !l.Rows[i].Granted {
			return r.whole(ctx, l, true)
		}
	}
	l.Reading, l.Rows = ReadIdle, nil
	return nil
}

// whole reads all entries of contended objects at one instant, then asks the
// server about those who wait.
func (r *lockReader) whole(ctx context.Context, l *Locks, relations bool) error {
	keep := 0
	if relations {
		keep = 1
	}
	if err := r.table(ctx, l, "locks_graph", storm, keep); err != nil {
		return err
	}
	waiters, all := pidsOf(l.Rows)
	limit := 0
	l.Reading = ReadGraph
	if r.longest <= longQueue {
		l.Reading = ReadDetail
	} else {
		waiters = doubtful(l.Rows)
	}
	if len(waiters) > mostAsked {
		waiters, limit = nil, mostAsked
	}
	return r.edges(ctx, l, limit, waiters, all)
}

// doubtful are the waiters of long queues whose order the lock table does not
// tell, for they came nearly together; a few, for each answer is dear there.
func doubtful(rows []LockRow) []int {
	queues := map[LockTag][]*LockRow{}
	for i := range rows {
		if !rows[i].Granted {
			queues[rows[i].Tag] = append(queues[rows[i].Tag], &rows[i])
		}
	}
	out := []int{}
	for _, q := range queues {
		slices.SortFunc(q, func(a, b *LockRow) int { return a.WaitStart.Compare(b.WaitStart) })
		for i := 1; i < len(q) && len(out) < mostDoubtful; i++ {
			if q[i].WaitStart.Sub(q[i-1].WaitStart) < nearArrivals {
				out = append(out, q[i].PID)
			}
		}
	}
	return out
}

// answers asks the server for the oldest waiters. What explains its answers is
// read in one pass when that is cheap and something changed since the last
// time, or else when detail is due.
func (r *lockReader) answers(ctx context.Context, l *Locks, detail, asked bool) error {
	if err := r.edges(ctx, l, mostAsked, nil, nil); err != nil {
		return err
	}
	l.Reading = ReadEdges
	l.Rows, l.DetailAt, l.DetailTook = r.rows, r.detailAt, r.took
	switch {
	case !detail && r.unchanged(l, dearAgain):
		l.Reading, l.Partial = ReadDetail, r.detail.Partial
		return nil
	case !detail:
		return nil
	case r.took < cheapDetail && !asked && r.unchanged(l, detailAgain) && !r.detail.Partial:
		l.Reading = ReadDetail
		return nil
	case r.took < cheapDetail:
		return r.entries(ctx, l)
	}
	relation, other, complete := blockersOf(l)
	if !complete {
		return r.whole(ctx, l, false)
	}
	if err := r.table(ctx, l, "locks_detail", storm, relation, other); err != nil {
		return err
	}
	l.Reading, l.Partial = ReadDetail, true
	_, all := pidsOf(l.Rows)
	return r.describe(ctx, l, all)
}

// entries reads what explains the answers in l, and asks for those whom only
// the lock table shows waiting.
func (r *lockReader) entries(ctx context.Context, l *Locks) error {
	if err := r.table(ctx, l, "locks_graph", 0, 1); err != nil {
		return err
	}
	l.Reading = ReadDetail
	answered := map[int]bool{}
	for i := range l.Waits {
		answered[l.Waits[i].PID] = true
	}
	waiters, all := pidsOf(l.Rows)
	rest := slices.DeleteFunc(waiters, func(pid int) bool { return answered[pid] })
	if len(rest) == 0 || len(rest)+len(l.Waits) > mostAsked {
		return r.describe(ctx, l, all) // the entries name whom no answer does: who blocks an auxiliary process
	}
	more := &Locks{}
	if err := r.edges(ctx, more, 0, rest, nil); err != nil {
		return err
	}
	l.Waits = append(l.Waits, more.Waits...)
	l.addProcs(more.Procs)
	return r.describe(ctx, l, all)
}

// pidsOf are those who wait, and everybody, in rows of contended objects.
func pidsOf(rows []LockRow) (waiters, all []int) {
	waits, seen := map[int]bool{}, map[int]bool{0: true}
	waiters, all = []int{}, []int{}
	contended := map[LockTag]bool{}
	for i := range rows {
		if !rows[i].Granted {
			contended[rows[i].Tag] = true
		}
	}
	for i := range rows {
		row := &rows[i]
		if !row.Granted && !waits[row.PID] {
			waits[row.PID] = true
			waiters = append(waiters, row.PID)
		}
		if contended[row.Tag] && !seen[row.PID] {
			seen[row.PID] = true
			all = append(all, row.PID)
		}
	}
	return waiters, all
}

// blockersOf are the pids whose entries explain the answers, parallel workers
// included; complete says that every waiter was asked for and has an answer.
func blockersOf(l *Locks) (relation, other []int, complete bool) {
	relation, other = []int{}, []int{}
	workers := map[int][]int{}
	for i := range l.Procs {
		if p := &l.Procs[i]; p.Kind == "parallel worker" && p.LeaderPID != 0 {
			workers[p.LeaderPID] = append(workers[p.LeaderPID], p.PID)
		}
	}
	complete = len(l.Waits) >= l.Waiting
	for i := range l.Waits {
		w := &l.Waits[i]
		complete = complete && len(w.Blockers) > 0
		for _, b := range w.Blockers {
			pids := append([]int{b}, workers[b]...)
			if w.LockType == "relation" {
				relation = append(relation, pids...)
			} else {
				other = append(other, pids...)
			}
		}
	}
	return relation, other, complete
}

// table reads lock entries into l and remembers what that cost.
func (r *lockReader) table(ctx context.Context, l *Locks, statement string, args ...any) error {
	rows, err := r.run(ctx, r.timeout, statement, args...)
	if err != nil {
		return fmt.Errorf("reading lock entries: %w", err)
	}
	r.cost(statement, rows.Took)
	l.Rows = make([]LockRow, 0, rows.Len())
	queues := map[LockTag]int{}
	r.longest = 0
	for rows.Next() {
		if rows.Int(0) == 0 {
			if n := rows.Int(12); n >= storm {
				return errStorm(n)
			}
			l.At, l.Waiting = rows.Time(16), max(l.Waiting, rows.Int(17))
			continue
		}
		row := lockRow(rows)
		if !row.Granted {
			queues[row.Tag]++
			r.longest = max(r.longest, queues[row.Tag])
		}
		l.Rows = append(l.Rows, row)
	}
	r.looked, r.rows, r.detailAt = l.At, l.Rows, l.At
	l.DetailAt, l.DetailTook = l.At, rows.Took
	return nil
}
