package waits_test

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/waits"
)

// forest reads as a user's program does: a tick, then Build.
func (p *player) forest() (*probes.Snapshot, *waits.Forest) {
	p.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		s, err := p.sampler.Tick(p.t.Context(), probes.Want{Sessions: true, AllKinds: true, Locks: true})
		if err != nil {
			p.t.Fatal(err)
		}
		alone := *s
		alone.Sessions = nil // the reading of the locks has what it needs
		f := waits.Build(&alone, s.Locks, nil)
		if f.Late == "" && (s.Locks == nil || !s.Locks.Untouched) {
			return s, f
		}
	}
	p.t.Fatal("the lock panel is always late, or not read whole")
	return nil, nil
}

// label is how the files call a process.
func (p *player) label(f *waits.Forest, k waits.Key) string {
	n := f.Node(k)
	if k.Prepared() {
		if n != nil && n.GID != "" {
			return "2pc:" + n.GID
		}
		return "2pc:?"
	}
	for name, s := range p.sessions {
		if s.connected() && s.pid == k.PID {
			return cmp.Or(p.alias[name], name)
		}
	}
	if n == nil || n.Session == nil {
		return "?unknown"
	}
	if n.Session.Kind == "logical replication worker" {
		return "logical replication apply worker"
	}
	return n.Session.Kind
}

func (p *player) labels(f *waits.Forest, keys []waits.Key) []string {
	out := []string{}
	for _, k := range keys {
		out = append(out, p.label(f, k))
	}
	slices.Sort(out)
	return out
}

// object is an edge's object as the files write it.
func object(e waits.Edge) string {
	rel := func() string { return strings.TrimPrefix(e.Object[strings.LastIndexByte(e.Object, ' ')+1:], "public.") }
	t := e.Tag
	switch t.Type {
	case "relation":
		return "relation:" + strings.TrimPrefix(e.Object, "public.")
	case "tuple":
		return fmt.Sprintf("tuple:%s(%d,%d)", rel(), t.Page, t.Tuple)
	case "advisory":
		return "advisory:" + strings.TrimPrefix(e.Object, "advisory key ")
	case "object":
		class := map[uint32]string{1262: "pg_database", 2615: "pg_namespace", 1260: "pg_authid"}[t.ClassID]
		return fmt.Sprintf("object:%s/%d", class, t.ObjID)
	case "applytransaction":
		if t.ObjSubID == 1 {
			return "applytransaction:xact"
		}
		return "applytransaction:stream"
	}
	return t.Type
}

func (s edgeSpec) matches(p *player, f *waits.Forest, e waits.Edge) bool {
	mode := func(m probes.LockMode) string { return strings.TrimSuffix(m.String(), "Lock") }
	obj := object(e)
	switch {
	case p.label(f, e.Waiter) != s.W || p.label(f, e.Blocker) != s.B || string(e.Kind) != s.Kind:
	case s.Obj != "" && s.Obj != obj && (!strings.HasSuffix(s.Obj, "/") || !strings.HasPrefix(obj, s.Obj)):
	case s.Want != "" && s.Want != mode(e.Mode) || s.Held != "" && s.Held != mode(e.HeldOrWanted):
	case s.Via == "parallel worker" && e.BlockerPID == e.Blocker.PID:
	case s.Via == "waiter parallel worker" && e.WaiterPID == e.Waiter.PID:
	default:
		return true
	}
	return false
}

func (p *player) show(f *waits.Forest, edges []waits.Edge) string {
	var sb strings.Builder
	for _, e := range edges {
		fmt.Fprintf(&sb, "  %s -> %s %s %s (%s) %s/%s %s\n", p.label(f, e.Waiter), p.label(f, e.Blocker), e.Kind, object(e), e.Object, e.Mode, e.HeldOrWanted, e.Doubt)
	}
	return sb.String()
}

func (p *player) check(name string, want *expectation) {
	p.t.Helper()
	if want == nil {
		want = &expectation{Only: new(bool)}
	}
	s, f := p.forest()
	if len(f.Torn) > 0 {
		time.Sleep(50 * time.Millisecond)
		s, f = p.forest()
	}
	for end := time.Now().Add(patience); !p.told(f, want) && time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		s, f = p.forest() // names come best effort: a busy server's with another reading
	}
	p.oracle(name, f, want)
	edges := f.Edges()
	used := make([]bool, len(edges))
	for _, w := range want.Edges {
		found := false
		for i, e := range edges {
			if w.matches(p, f, e) {
				found, used[i] = true, true
			}
		}
		if !found {
			p.t.Errorf("%s: no edge %+v in\n%s", name, w, p.show(f, edges))
		}
	}
	if (want.Only == nil || *want.Only) && slices.Contains(used, false) {
		p.t.Errorf("%s: got edges\n%swant only %+v", name, p.show(f, edges), want.Edges)
	}
	p.checkShape(name, f, edges, want)
	p.checkRest(name, s, f, want)
	p.checkWords(name, f, want)
	p.invariants(name, f)
}

// told reports whether all is named that the file names.
func (p *player) told(f *waits.Forest, want *expectation) bool {
	for who, words := range want.Objects {
		if n := p.named(f, who); n == nil || n.Edge == nil || !strings.Contains(n.Edge.Object, words) {
			return false
		}
	}
	for who, text := range want.Notes {
		if n := p.named(f, who); n == nil || !strings.Contains(strings.Join(f.Notes(n), "\n"), text) {
			return false
		}
	}
	for _, w := range want.Edges {
		if !slices.ContainsFunc(f.Edges(), func(e waits.Edge) bool { return w.matches(p, f, e) }) {
			return false
		}
	}
	text := p.fill(want.BestText)
	return text == "" || says(f, text)
}

func (p *player) equal(name, what string, got, want []string) {
	p.t.Helper()
	slices.Sort(want)
	if !slices.Equal(got, want) {
		p.t.Errorf("%s: %s: got %v, want %v", name, what, got, want)
	}
}

func (p *player) checkShape(name string, f *waits.Forest, edges []waits.Edge, want *expectation) {
	p.t.Helper()
	if want.rootsGiven {
		var roots []waits.Key
		for _, t := range f.Trees {
			roots = append(roots, t.Root.Key)
		}
		p.equal(name, "roots", p.labels(f, roots), want.Roots)
	}
	if len(want.Cycle) > 0 {
		if len(f.Cycles) != 1 {
			p.t.Fatalf("%s: got %d cycles, want 1", name, len(f.Cycles))
		}
		p.equal(name, "cycle", p.labels(f, f.Cycles[0].Members), want.Cycle)
		hard := true
		for _, e := range want.Edges {
			if e.Kind == "soft" && slices.Contains(want.Cycle, e.W) && slices.Contains(want.Cycle, e.B) {
				hard = false
			}
		}
		if f.Cycles[0].Hard != hard {
			p.t.Errorf("%s: got a hard cycle %v, want %v", name, f.Cycles[0].Hard, hard)
		}
	}
	for kind, n := range want.Counts {
		got := 0
		for _, e := range edges {
			if string(e.Kind) == kind {
				got++
			}
		}
		if got != n {
			p.t.Errorf("%s: got %d %s edges, want %d\n%s", name, got, kind, n, p.show(f, edges))
		}
	}
	for who, freed := range want.KillFrees {
		for _, n := range f.All() {
			if p.label(f, n.Key) == who {
				p.equal(name, "ending "+who+" frees", p.labels(f, f.WhatIf(n.Key).Frees), freed)
			}
		}
	}
}

func (p *player) checkRest(name string, s *probes.Snapshot, f *waits.Forest, want *expectation) {
	p.t.Helper()
	for who, state := range want.RootState {
		if got := p.state(who); !strings.HasPrefix(got, state) {
			p.t.Errorf("%s: state of %s: got %q, want %q", name, who, got, state)
		}
	}
	if want.Pinned != nil {
		got := map[string]int{}
		for _, t := range f.Trees {
			for r, n := range t.ByRole {
				got[r] += n
			}
		}
		if !maps.Equal(got, want.Pinned) {
			p.t.Errorf("%s: pinned: got %v, want %v", name, got, want.Pinned)
		}
	}
	if want.SafeSnapshot != nil {
		for _, ss := range f.SafeSnapshots {
			var b []waits.Key
			for _, n := range ss.Blockers {
				b = append(b, n.Key)
			}
			p.equal(name, "safe snapshot", p.labels(f, b), want.SafeSnapshot[p.label(f, ss.Waiter.Key)])
		}
		if len(f.SafeSnapshots) != len(want.SafeSnapshot) {
			p.t.Errorf("%s: got %d safe snapshot waits, want %d", name, len(f.SafeSnapshots), len(want.SafeSnapshot))
		}
	}
	if want.Gate != nil {
		n := 0
		for _, x := range s.Sessions {
			if x.WaitEventType == "Lock" || x.WaitEvent == "SafeSnapshot" {
				n++
			}
		}
		if n != *want.Gate {
			p.t.Errorf("%s: activity shows %d waiting, want %d", name, n, *want.Gate)
		}
	}
	for who, text := range want.Notes {
		found, all := false, []string{}
		for _, n := range f.All() {
			if p.label(f, n.Key) == who {
				for _, note := range f.Notes(n) {
					all = append(all, note)
					found = found || strings.Contains(note, text)
				}
			}
		}
		if !found {
			p.t.Errorf("%s: no note of %s says %q: %q", name, who, text, all)
		}
	}
	if want.Best != "" {
		got := "no tree"
		if len(f.Trees) > 0 {
			got = string(f.Trees[0].Best.Verb) + " " + p.label(f, f.Trees[0].Best.Key)
		}
		if got != want.Best {
			p.t.Errorf("%s: best action: got %q, want %q", name, got, want.Best)
		}
	}
}

// state is state/wait_event_type:wait_event of a session.
func (p *player) state(who string) string {
	pid := -1
	if s := p.sessions[who]; s != nil {
		pid = s.pid
	}
	var state string
	err := p.mon.QueryRow(p.t.Context(), `select coalesce(state, '') || '/' || coalesce(wait_event_type, '') || ':' || coalesce(wait_event, '')
		from pg_stat_activity where pid = $1 or ($1 = -1 and backend_type = $2)`, pid, who).Scan(&state)
	if err != nil {
		p.t.Errorf("state of %s: %v", who, err)
	}
	return state
}

// oracle holds every waiter's edges against pg_blocking_pids.
func (p *player) oracle(name string, f *waits.Forest, want *expectation) {
	p.t.Helper()
	truth := blockingPIDs(p.t.Context(), p.mon, func(err error) { p.t.Fatal(err) })
	for k, set := range truth {
		got := pidSet(f.Blockers(waits.Key{PID: k}))
		who := p.label(f, waits.Key{PID: k})
		if _, differs := want.OracleDiffers[who]; !differs && !slices.Equal(got, set) {
			p.t.Errorf("%s: blockers of %s (%d): got %v, pg_blocking_pids says %v", name, who, k, got, set)
		}
	}
	for _, e := range f.Edges() {
		who := p.label(f, e.Waiter)
		if _, ok := truth[e.Waiter.PID]; !ok && who != "startup" && who != "?unknown" {
			if _, differs := want.OracleDiffers[who]; !differs {
				p.t.Errorf("%s: %s waits in the forest only", name, who)
			}
		}
		if e.Kind == waits.Unknown {
			p.t.Errorf("%s: edge of unknown kind: %+v", name, e)
		}
	}
}

// blockingPIDs is the oracle: leader → the set of its blockers.
func blockingPIDs(ctx context.Context, c *pgx.Conn, fail func(error)) map[int][]int {
	rows, err := c.Query(ctx, `select pid, pg_blocking_pids(pid) from pg_stat_get_activity(null)
		where backend_type <> 'parallel worker' and cardinality(pg_blocking_pids(pid)) > 0`)
	if err != nil {
		fail(err)
		return nil
	}
	out := map[int][]int{}
	var pid int
	var b []int
	_, err = pgx.ForEachRow(rows, []any{&pid, &b}, func() error {
		b := slices.Clone(b)
		slices.Sort(b)
		out[pid] = slices.Compact(b)
		return nil
	})
	if err != nil {
		fail(err)
	}
	return out
}

func pidSet(edges []waits.Edge) []int {
	out := []int{}
	for _, e := range edges {
		out = append(out, e.Blocker.PID)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// invariants hold for every forest: each waiter drawn once, no loop, all under a
// root or a circle, the root's what-if no more than its victims.
func (p *player) invariants(name string, f *waits.Forest) {
	p.t.Helper()
	for _, problem := range wrong(f) {
		p.t.Errorf("%s: %s", name, problem)
	}
}

func wrong(f *waits.Forest) []string {
	var out []string
	seen := map[waits.Key]bool{}
	var walk func(n *waits.Node)
	walk = func(n *waits.Node) {
		if seen[n.Key] {
			out = append(out, fmt.Sprintf("%v is drawn twice", n.Key))
			return
		}
		seen[n.Key] = true
		for _, c := range n.Children {
			if c.Parent != n || c.Edge == nil {
				out = append(out, fmt.Sprintf("%v does not know its parent or its edge", c.Key))
			}
			walk(c)
		}
	}
	for _, t := range f.Trees {
		walk(t.Root)
		if n := len(t.Ends[0].Frees); n > t.Victims || t.Root.Behind > t.Victims {
			out = append(out, fmt.Sprintf("root %v: frees %d, draws %d of %d victims", t.Root.Key, n, t.Root.Behind, t.Victims))
		}
	}
	for _, c := range f.Cycles {
		if c.Tree != nil {
			walk(c.Tree.Root)
		}
	}
	for _, n := range f.Alone {
		walk(n)
	}
	for _, e := range f.Edges() {
		if !seen[e.Waiter] || !seen[e.Blocker] {
			out = append(out, fmt.Sprintf("edge %v -> %v: not both are drawn", e.Waiter, e.Blocker))
		}
	}
	return out
}

// endIt ends the root of the largest tree that can be ended and sees that
// exactly the promised waiters run, in turn, each ending its transaction.
func (p *player) endIt() {
	_, f := p.forest()
	trees := slices.Clone(f.Trees)
	for _, c := range f.Cycles {
		if c.Tree != nil {
			trees = append(trees, c.Tree)
		}
	}
	p.alias = nil
	trees = slices.DeleteFunc(trees, func(t *waits.Tree) bool { return p.sessions[p.label(f, t.Root.Key)] == nil })
	switch {
	case p.sc.Needs == "standby":
		p.endOnStandby(trees)
		return
	case len(trees) == 0:
		return
	}
	for _, e := range f.Edges() {
		if end := f.WhatIf(e.Blocker); e.LockType == "virtualxid" && (f.Node(e.Waiter).Behind > 0 || !slices.Contains(end.Frees[:end.Direct], e.Waiter)) {
			return // it may wait for those behind it next, or for others: the lock table does not say
		}
	}
	for _, t := range trees {
		if s := t.Root.Session; s != nil && (s.WaitEventType == "BufferPin" || s.WaitEventType == "Buffer") {
			return // waits for a pin: no more a root than it looks
		}
	}
	t := slices.MaxFunc(trees, func(a, b *waits.Tree) int { return cmp.Compare(a.Victims, b.Victims) })
	promised, end := map[string]bool{}, f.WhatIf(t.Root.Key)
	for _, k := range end.Frees {
		promised[p.label(f, k)] = true
	}
	waiting := map[string]bool{}
	for name, s := range p.sessions {
		if s.connected() && s.pg != nil && name != p.label(f, t.Root.Key) && !s.finished() {
			if n := f.Node(waits.Key{PID: s.pid}); n != nil && n.Edge != nil {
				waiting[name] = true
			}
		}
	}
	p.terminate(p.label(f, t.Root.Key))
	p.ranAtOnce(waiting, p.labels(f, end.Frees[:end.Direct]))
	p.runFreed(waiting, promised)
}

// ranAtOnce: as many as promised run at once while everybody keeps what they have:
// those who were named, or others of those who wait for the same without a place
// in a queue, for who of them is first is not known.
func (p *player) ranAtOnce(waiting map[string]bool, direct []string) {
	want := 0
	for _, name := range direct {
		if waiting[name] {
			want++
		}
	}
	ran := []string{}
	for end := time.Now().Add(patience); len(ran) < want && time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		ran = ran[:0]
		for name := range waiting {
			if p.sessions[name].finished() {
				ran = append(ran, name)
			}
		}
	}
	if len(ran) < want {
		p.t.Errorf("ending the root: %v ran at once, promised %v", ran, direct)
	}
}

func (p *player) runFreed(waiting, promised map[string]bool) {
	ran := map[string]bool{}
	quiet := time.Now()
	for time.Since(quiet) < 400*time.Millisecond || (len(ran) < len(promised) && time.Since(quiet) < 3*time.Second) {
		for name := range waiting {
			s := p.sessions[name]
			if ran[name] || !s.finished() {
				continue
			}
			ran[name], quiet = true, time.Now()
			ctx, cancel := context.WithTimeout(p.t.Context(), patience)
			_ = s.pg.Close(ctx) // its transaction and its session's locks are over
			cancel()
		}
		time.Sleep(5 * time.Millisecond)
	}
	for name := range waiting {
		if ran[name] != promised[name] {
			p.t.Errorf("ending the root: %s ran %v, promised %v", name, ran[name], promised[name])
		}
	}
}

// hidden reads as a login without any grant and holds the edges against the
// same oracle: it sees them all, though not whom they are about.
func (p *player) hidden() {
	at := p.srv
	if p.sc.Mon == "standby" {
		at = p.standby
	}
	s, err := probes.Open(p.t.Context(), probes.Options{DSN: at.DSN("scen_nobody", "scen")})
	if err != nil {
		p.t.Fatal(err)
	}
	defer s.Close()
	own := p.sampler
	p.sampler = s
	_, f := p.forest()
	p.sampler = own
	truth := blockingPIDs(p.t.Context(), p.mon, func(err error) { p.t.Fatal(err) })
	for pid, set := range truth {
		got := pidSet(f.Blockers(waits.Key{PID: pid}))
		if !slices.Equal(got, set) && (p.major >= 17 || !p.unled(f, pid, set)) {
			p.t.Errorf("without grants: blockers of %d: got %v, pg_blocking_pids says %v", pid, got, set)
		}
	}
	if len(f.Torn) > 0 {
		p.t.Errorf("without grants: torn: %v", f.Torn)
	}
	p.invariants("without grants", f)
}

// unled: before 17 nothing that a login without grants may read tells a worker that
// works on from the leader of the one that waits: activity hides kinds and leaders, the
// lock table has no groups, the server's answer is the same for all members, and
// backends of all kinds have numbers of one list. The one that waits is drawn by itself
// then, with the same blockers, and says so.
func (p *player) unled(f *waits.Forest, leader int, by []int) bool {
	rows, err := p.mon.Query(p.t.Context(), "select pid from pg_stat_activity where leader_pid = $1 and wait_event_type = 'Lock'", leader)
	if err != nil {
		p.t.Fatal(err)
	}
	workers, err := pgx.CollectRows(rows, pgx.RowTo[int])
	if err != nil {
		p.t.Fatal(err)
	}
	for _, w := range workers {
		n := f.Node(waits.Key{PID: w})
		if n == nil || !slices.Equal(pidSet(f.Blockers(n.Key)), by) || !strings.Contains(strings.Join(f.Notes(n), "; "), "may be a parallel worker") {
			return false
		}
	}
	return len(workers) > 0
}
