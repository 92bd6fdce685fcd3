package probes

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

const (
	defaultRows  = 500
	defaultQuery = 200
	mostQuery    = 4096 // bytes of text a row in a list may have
)

// Tick reads the server once. It waits while another Tick runs. While no server
// answers the error is an *Unavailable; any other error is about this reading
// only, and the next Tick may well succeed.
func (s *Sampler) Tick(ctx context.Context, want Want) (*Snapshot, error) {
	select {
	case <-s.flight:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { s.flight <- struct{}{} }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()

	rows, err := s.readTick(ctx, want)
	if err != nil {
		return nil, err
	}
	f := s.facts(rows)
	s.learn(ctx, f)
	s.ensureWork(f.present)
	snap := s.snapshot(rows, f, want)
	s.lookAtLocks(ctx, snap, LockAsk{At: snap.At, Waiting: f.waiting, Masked: snap.Server.Masked, Detail: want.Locks})
	return snap, nil
}

// readTick sends the one message, over a new connection when the old one turns
// out to be gone: at most twice, for the work connection may be gone too.
func (s *Sampler) readTick(ctx context.Context, want Want) (*Rows, error) {
	if err := s.watch.take(ctx); err != nil {
		return nil, err
	}
	defer s.release(s.watch)
	var err error
	for range 3 {
		if err = s.ensureWatch(ctx); err != nil {
			return nil, err
		}
		var rows *Rows
		rows, err = s.watch.run(ctx, s.opts.Timeout, "tick", s.tickArgs(want)...)
		if err == nil {
			s.mu.Lock()
			s.outage = nil
			s.cost = rows.Took
			s.mu.Unlock()
			return rows, nil
		}
		if !s.watch.up() {
			s.gaveUp(s.watch.hello)
		}
		if !connectionLost(err) {
			break
		}
		s.watch.drop()
	}
	if code, _ := lastPgError(err); code != "" && code != "57014" && !connectionLost(err) {
		return nil, fmt.Errorf("reading activity: %w", err)
	}
	return nil, s.away(ctx, err)
}

// gaveUp remembers a connection that the server may not know is over.
func (s *Sampler) gaveUp(h hello) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if h.pooled {
		return
	}
	s.lose(h.pid)
}

func (s *Sampler) tickArgs(want Want) []any {
	kind := 0
	switch {
	case want.Sessions && want.AllKinds:
		kind = 2
	case want.Sessions:
		kind = 1
	}
	limit, bytes := want.Limit, want.QueryBytes
	if limit <= 0 {
		limit = defaultRows
	}
	if bytes <= 0 {
		bytes = defaultQuery
	}
	return []any{s.ownPIDs(), kind, limit, min(bytes, mostQuery), want.FullPID}
}

// ownPIDs are the backends that serve us, as far as we can know: behind a pooler
// only the one that answers, which the statement itself leaves out.
func (s *Sampler) ownPIDs() []int {
	var own []int
	for _, l := range []*link{s.watch, s.work} {
		if pid := int(l.pid.Load()); pid != 0 {
			own = append(own, pid)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.borrowed != 0 {
		own = append(own, s.borrowed)
	}
	for pid := range s.back.lost {
		own = append(own, pid)
	}
	slices.Sort(own)
	return slices.Compact(own)
}

// tickFacts is what the first row of a tick says: the server itself.
type tickFacts struct {
	at       time.Time
	started  time.Time
	conf     time.Time // of the last reload
	recovery bool
	total    int   // sessions that match Want
	waiting  int   // for a lock
	present  []int // own backends that the server shows
	unknown  bool  // an oid is without a name
}

// facts reads the first row and looks for newcomers.
func (s *Sampler) facts(r *Rows) tickFacts {
	s.mu.Lock()
	defer s.mu.Unlock()
	var f tickFacts
	for r.Next() {
		if r.Int(0) == 0 {
			f = tickFacts{
				total: r.Int(1), present: r.Ints(5), at: r.Time(13), started: r.Time(14), conf: r.Time(15),
				recovery: r.Int(16) == 1, waiting: r.Int(17),
			}
		}
		f.unknown = !s.state.knows(r.OID(3), r.OID(4)) || f.unknown
	}
	r.Rewind()
	return f
}

// snapshot decodes the rows of one tick.
func (s *Sampler) snapshot(r *Rows, f tickFacts, want Want) *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seq++
	s.state.at = f.at
	s.state.server.InRecovery, s.state.server.Started, s.state.server.OwnPIDs = f.recovery, f.started, f.present
	snap := &Snapshot{
		Seq: s.seq, At: f.at, Server: s.state.server, Limits: s.state.limits, SessionsTotal: f.total,
		Cost: Cost{Connections: s.connections(), RoundTrip: r.Took, Bytes: r.Bytes}, Notes: s.notes,
		Opened: s.opened.all, Refused: s.back.refused,
	}
	s.notes = nil
	s.compare(snap, f)
	if want.Sessions || want.FullPID != 0 {
		snap.Sessions = []Session{}
	}
	for r.Next() {
		switch r.Int(0) {
		case 1:
			snap.Groups = append(snap.Groups, s.group(r))
		case 2:
			snap.Sessions = append(snap.Sessions, s.session(r))
		}
	}
	slices.SortFunc(snap.Groups, compareGroups)
	return snap
}

// compareGroups puts groups in an order that the server's plan has no say in, so
// that equal readings make equal findings.
func compareGroups(a, b Group) int {
	return cmp.Or(
		strings.Compare(a.Kind, b.Kind), strings.Compare(a.Database, b.Database), strings.Compare(a.User, b.User),
		strings.Compare(a.App, b.App), strings.Compare(a.Addr, b.Addr), strings.Compare(a.State, b.State), strings.Compare(a.Act, b.Act),
	)
}

// connections counts those that are up.
func (s *Sampler) connections() int {
	n := 0
	if s.watch.alive() {
		n++
	}
	if s.work != s.watch && (s.work.alive() || s.borrowing) {
		n++
	}
	return n
}

func (s *Sampler) group(r *Rows) Group {
	return Group{
		N: r.Int(1), Database: s.state.database(r.OID(3)), User: s.state.role(r.OID(4)),
		Kind: r.Text(5), App: r.Text(6), Addr: r.Text(7), State: r.Text(9), Act: r.Text(10),
		OldestStart: r.Time(13), NewestStart: r.Time(14), MaxTxS: r.Seconds(15, -1), MaxQueryS: r.Seconds(16, -1),
		MaxInStateS: r.Seconds(17, -1), WaitS: r.Seconds(18, -1),
	}
}

func (s *Sampler) session(r *Rows) Session {
	db := r.OID(3)
	query := r.Bytea(22)
	clipped := len(query) < r.Int(23)
	if clipped {
		query = trimPartial(query)
	}
	return Session{
		PID: r.Int(2), DatabaseOID: db, UserOID: r.OID(4), Database: s.state.database(db), User: s.state.role(r.OID(4)),
		Kind: r.Text(5), App: r.Text(6), Addr: r.Text(7), Port: max(0, r.Int(8)), State: r.Text(9),
		WaitEventType: r.Text(11), WaitEvent: r.Text(12),
		BackendStart: r.Time(13), XactStart: r.Time(14), QueryStart: r.Time(15), StateChange: r.Time(16),
		XID: r.Text(19), XMin: r.Text(20), LeaderPID: r.Int(21),
		Query: s.enc.decode(db, query), QueryClipped: clipped,
	}
}

// FullQuery is the whole text of one backend's query, as far as the server
// keeps it, up to 1 MB. start is its backend_start: a pid is not an identity.
func (s *Sampler) FullQuery(ctx context.Context, pid int, start time.Time) (string, error) {
	rows, err := s.Watch(ctx, s.opts.Timeout, "query", pid, start.UnixMicro())
	if err != nil {
		return "", fmt.Errorf("reading the query of %d: %w", pid, err)
	}
	if !rows.Next() {
		return "", fmt.Errorf("reading the query of %d: %w", pid, ErrGone)
	}
	query := s.enc.decode(rows.OID(0), rows.Bytea(1))
	if query == "<insufficient privilege>" { // pg_stat_get_activity's word
		return "", fmt.Errorf("reading the query of %d: %w", pid, ErrMasked)
	}
	return query, nil
}
