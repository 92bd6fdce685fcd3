package waits

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pgsonde/pgsonde/probes"
)

var epoch = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// table makes lock entries from lines: "PID MODE OBJECT" is held, "PID MODE
// OBJECT @SECONDS" waits since then. PID p1 is a prepared transaction. OBJECT is
// t1 (a relation), x7 (a transaction), row3 (a row of relation 3), a5 (an
// advisory key) or o2 (a schema).
func table(t *testing.T, text string) []probes.LockRow {
	t.Helper()
	modes := map[string]probes.LockMode{
		"AS": probes.AccessShareLock, "RS": probes.RowShareLock, "RX": probes.RowExclusiveLock, "SUX": probes.ShareUpdateExclusiveLock,
		"S": probes.ShareLock, "SRX": probes.ShareRowExclusiveLock, "X": probes.ExclusiveLock, "AX": probes.AccessExclusiveLock,
	}
	var rows []probes.LockRow
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		f := strings.Fields(line)
		if len(f) < 3 || modes[f[1]] == 0 {
			t.Fatalf("line %q", line)
		}
		r := probes.LockRow{Mode: modes[f[1]], Granted: len(f) == 3, Tag: tag(t, f[2])}
		if name, prepared := strings.CutPrefix(f[0], "p"); prepared {
			r.VXID = name + "/1"
		} else if _, err := fmt.Sscan(f[0], &r.PID); err != nil {
			t.Fatalf("line %q: %v", line, err)
		}
		if !r.Granted {
			var s float64
			if _, err := fmt.Sscan(f[3][1:], &s); err != nil {
				t.Fatalf("line %q: %v", line, err)
			}
			if s > 0 {
				r.WaitStart = epoch.Add(time.Duration(s * float64(time.Second)))
			}
		}
		rows = append(rows, r)
	}
	return rows
}

func tag(t *testing.T, s string) probes.LockTag {
	t.Helper()
	var n uint32
	for prefix, make := range map[string]func() probes.LockTag{
		"row": func() probes.LockTag { return probes.LockTag{Type: "tuple", Database: 5, Relation: n, Tuple: 1} },
		"t":   func() probes.LockTag { return probes.LockTag{Type: "relation", Database: 5, Relation: n} },
		"x":   func() probes.LockTag { return probes.LockTag{Type: "transactionid", XID: n} },
		"o":   func() probes.LockTag { return probes.LockTag{Type: "object", Database: 5, ClassID: 2615, ObjID: n} },
		"a":   func() probes.LockTag { return probes.LockTag{Type: "advisory", Database: 5, ObjID: n, ObjSubID: 1} },
	} {
		if rest, ok := strings.CutPrefix(s, prefix); ok {
			if _, err := fmt.Sscan(rest, &n); err == nil {
				return make()
			}
		}
	}
	t.Fatalf("object %q", s)
	return probes.LockTag{}
}

// reading wraps rows; every pid in them is an idle client of role app.
func reading(rows []probes.LockRow) *probes.Locks {
	l := &probes.Locks{At: epoch.Add(time.Minute), Reading: probes.ReadGraph, Rows: rows}
	seen := map[int]bool{0: true}
	for _, r := range rows {
		if !seen[r.PID] {
			seen[r.PID] = true
			l.Procs = append(l.Procs, probes.Session{
				PID: r.PID, Kind: probes.KindClient, User: "app", State: "active",
				BackendStart: epoch, XactStart: epoch.Add(time.Duration(r.PID) * time.Second), QueryStart: epoch,
			})
		}
	}
	return l
}

// edgesOf is "waiter>blocker" for hard edges and "waiter~blocker" for soft ones.
func edgesOf(f *Forest) []string {
	out := []string{}
	for _, e := range f.Edges() {
		sign := map[Kind]string{Hard: ">", Soft: "~", Unknown: "?"}[e.Kind]
		out = append(out, short(e.Waiter)+sign+short(e.Blocker))
	}
	slices.Sort(out)
	return out
}

func short(k Key) string {
	if k.Prepared() {
		return "p" + strings.TrimSuffix(k.VXID, "/1")
	}
	return fmt.Sprint(k.PID)
}

// drawn is the forest as root(child child(…)).
func drawn(n *Node) string {
	s := short(n.Key)
	if len(n.Children) == 0 {
		return s
	}
	var kids []string
	for _, c := range n.Children {
		kids = append(kids, drawn(c))
	}
	return s + "(" + strings.Join(kids, " ") + ")"
}

func trees(f *Forest) []string {
	out := []string{}
	for _, t := range f.Trees {
		out = append(out, drawn(t.Root))
	}
	for _, c := range f.Cycles {
		if c.Tree != nil {
			out = append(out, "cycle "+drawn(c.Tree.Root))
		}
	}
	return out
}

func ends(f *Forest, pid int) string {
	e := f.WhatIf(Key{PID: pid})
	var out []string
	for i, k := range e.Frees {
		if i == e.Direct {
			out = append(out, "then")
		}
		out = append(out, short(k))
	}
	return strings.Join(out, " ")
}

func TestBuild(t *testing.T) {
	tests := []struct {
		name, rows string
		edges      string
		trees      []string
		ends       map[int]string
	}{
		{name: "nobody waits", rows: "1 X x1\n2 AS t1", edges: "", trees: []string{}},
		{
			name: "chain", rows: "1 X x1\n2 X x2\n2 S x1 @10\n3 S x2 @20", edges: "2>1 3>2", trees: []string{"1(2(3))"},
			ends: map[int]string{1: "2 then 3", 2: "3", 3: ""},
		},
		{
			name:  "queued ALTER",
			rows:  "1 AS t1\n2 AX t1 @1\n3 AS t1 @2\n4 RX t1 @3\n5 AS t1 @4",
			edges: "2>1 3~2 4~2 5~2", trees: []string{"1(2(3 4 5))"},
			ends: map[int]string{1: "2 then 3 4 5", 2: "3 5 4"},
		},
		{
			name:  "hot row: one queue below the row's locker, its head frees nobody",
			rows:  "1 X x1\n2 X row3\n2 S x1 @1\n3 X row3 @2\n4 X row3 @3\n5 X row3 @4",
			edges: "2>1 3>2 4>2 4~3 5>2 5~3 5~4", trees: []string{"1(2 3 4 5)"},
			ends: map[int]string{1: "2 then 3 4 5", 2: "", 3: ""},
		},
		{
			name:  "shared heads of a row's queue",
			rows:  "1 X x1\n2 RS row3\n2 S x1 @1\n3 RS row3\n3 S x1 @2\n4 X row3 @3\n5 AX row3 @4",
			edges: "2>1 3>1 4>2 4>3 5>2 5>3 5~4", trees: []string{"1(2 3 4 5)"},
			ends: map[int]string{1: "2 3 then 4 5", 2: ""},
		},
		{
			name: "two roots", rows: "1 AS t1\n2 RX t1\n3 AX t1 @1\n4 AS t1 @2",
			edges: "3>1 3>2 4~3", trees: []string{"1(3(4))", "2"}, ends: map[int]string{1: "", 2: "", 3: "4"},
		},
		{
			name: "diamond", rows: "1 X x1\n2 X row7\n2 S x1 @1\n3 X row8\n3 S x1 @2\n2 RX t1\n3 RX t1\n4 S t1 @3",
			edges: "2>1 3>1 4>2 4>3", trees: []string{"1(2(4) 3)"}, ends: map[int]string{1: "2 3 then 4", 2: "", 3: ""},
		},
		{
			name: "deadlock with a tail", rows: "1 X x1\n2 X x2\n1 S x2 @1\n2 X row3\n2 S x1 @2\n3 X row3 @3",
			edges: "1>2 2>1 3>2", trees: []string{"cycle 2(1 3)"}, ends: map[int]string{1: "2 then 3", 2: "1 then 3"},
		},
		{
			name: "circle through a queue", rows: "1 AS t1\n4 RX t1\n2 AX t1 @1\n3 S t1 @2\n3 X a1\n1 X a1 @3",
			edges: "1>3 2>1 2>4 3>4 3~2", trees: []string{"4(2 3(1))"},
		},
		{
			name: "upgrader goes ahead of whom it blocks", rows: "1 RX t1\n2 AS t1\n3 AX t1 @1\n2 S t1 @2\n4 AS t1 @3",
			edges: "2>1 3>1 3>2 4~3", trees: []string{"1(3(4) 2)"}, ends: map[int]string{1: "2 then 3 4"},
		},
		{
			name: "prepared transaction", rows: "p8 X x8\np8 RX t1\n1 S x8 @1\n2 AX t1 @2\n3 AS t1 @3",
			edges: "1>p8 2>p8 3~2", trees: []string{"p8(1 2(3))"},
		},
		{
			name: "a waiter nothing blocks at its place is behind whom it conflicts with", rows: "4 RS t1\n1 RX t1 @1\n2 X t1 @2",
			edges: "1~2 2>4", trees: []string{"4(2(1))"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := Build(nil, reading(table(t, tt.rows)), nil)
			if d := cmp.Diff(strings.Fields(tt.edges), edgesOf(f)); d != "" && tt.edges+strings.Join(edgesOf(f), "") != "" {
				t.Errorf("edges: want - got +\n%s", d)
			}
			if tt.trees != nil {
				if d := cmp.Diff(tt.trees, trees(f)); d != "" {
					t.Errorf("trees: want - got +\n%s", d)
				}
			}
			for pid, want := range tt.ends {
				if got := ends(f, pid); got != want {
					t.Errorf("ending %d: got %q, want %q", pid, got, want)
				}
			}
		})
	}
}

func TestBuildNothing(t *testing.T) {
	f := Build(&probes.Snapshot{}, nil, nil)
	if f.Waiters != 0 || len(f.Edges()) != 0 || f.Node(Key{PID: 1}) != nil || len(f.WhatIf(Key{PID: 1}).Frees) != 0 || len(f.All()) != 0 {
		t.Errorf("a reading that was not made says something: %+v", f)
	}
}

func TestTornReadings(t *testing.T) {
	rows := table(t, "1 X x1\n2 S x1 @1\n3 AX t1 @2\n4 AS t1 @3\n5 AS t1")
	tests := []struct {
		name  string
		waits []probes.LockWait
		torn  []int
		edges string
	}{
		{"agree", []probes.LockWait{{PID: 2, Blockers: []int{1}}, {PID: 3, Blockers: []int{5}}, {PID: 4, Blockers: []int{3}}}, nil, "2>1 3>5 4~3"},
		{"granted meanwhile", []probes.LockWait{{PID: 2, Blockers: nil}}, []int{2}, "2>1 3>5 4~3"},
		{"a new waiter has no edge to draw", []probes.LockWait{{PID: 9, Blockers: []int{1}}}, []int{9}, "2>1 3>5 4~3"},
		{"a blocker that the table does not know", []probes.LockWait{{PID: 2, Blockers: []int{1, 7}}}, []int{2}, "2>1 3>5 4~3"},
		{"the server's order replaces ours", []probes.LockWait{{PID: 3, Blockers: []int{4, 5}}}, nil, "2>1 3>5 3~4 4~3"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := reading(rows)
			l.Reading, l.Waits = probes.ReadDetail, tt.waits
			f := Build(nil, l, nil)
			if !slices.Equal(f.Torn, tt.torn) {
				t.Errorf("torn: got %v, want %v", f.Torn, tt.torn)
			}
			if d := cmp.Diff(strings.Fields(tt.edges), edgesOf(f)); d != "" {
				t.Errorf("edges: want - got +\n%s", d)
			}
		})
	}
}

func TestPartialRows(t *testing.T) {
	l := reading(table(t, "1 X x1\n2 S x1 @1\n3 AX t1 @2"))
	l.Reading, l.Partial = probes.ReadDetail, true
	l.Waits = []probes.LockWait{{PID: 2, Blockers: []int{1}}}
	if f := Build(nil, l, nil); !slices.Equal(f.Torn, []int{3}) || len(f.Alone) != 1 || f.Alone[0].Doubt != DoubtTorn {
		t.Errorf("who came between answers and rows: got %v, %+v", f.Torn, f.Alone)
	}
}

func TestAnswersAlone(t *testing.T) {
	l := reading(table(t, "1 AS t1\n2 AX t1 @1\n3 AS t1 @2"))
	l.Reading = probes.ReadEdges
	l.Waits = []probes.LockWait{
		{PID: 2, LockType: "relation", Blockers: []int{1}},
		{PID: 3, LockType: "relation", Blockers: []int{2, 2}},
		{PID: 4, LockType: "transactionid", Blockers: []int{6}}, // newer than the entries
		{PID: 5, LockType: "relation", Blockers: []int{4, 0}},
	}
	f := Build(nil, l, nil)
	if got, want := strings.Join(edgesOf(f), " "), "2>1 3~2 4>6 5>4 5>p?"; got != want {
		t.Errorf("edges: got %s, want %s", got, want)
	}
	if e := f.Blockers(Key{PID: 4})[0]; e.Object != "" || e.LockType != "transactionid" || e.Doubt != DoubtOld {
		t.Errorf("an edge without entries: %+v", e)
	}
	if got := ends(f, 1); got != "2 then 3" {
		t.Errorf("ending 1: got %q", got)
	}
}

func TestLockGroups(t *testing.T) {
	l := reading(table(t, "10 AS t1\n2 AX t1 @1\n20 AS t1 @2\n21 AS t1 @3"))
	for i := range l.Procs {
		p := &l.Procs[i]
		if p.PID == 10 || p.PID >= 20 {
			p.Kind, p.LeaderPID = "parallel worker", p.PID/10
		}
	}
	l.Procs = append(l.Procs, probes.Session{PID: 1, Kind: probes.KindClient, User: "app"})
	f := Build(nil, l, nil)
	// 20 and 21 work for 2, which waits itself: they never block each other.
	if got, want := strings.Join(edgesOf(f), " "), "2>1"; got != want {
		t.Errorf("edges: got %s, want %s", got, want)
	}
	if e := f.Edges()[0]; e.BlockerPID != 10 || e.WaiterPID != 2 {
		t.Errorf("members: %+v", e)
	}
	if tr := f.Trees[0]; tr.Slots != 2 || tr.ByRole["app"] != 2 {
		t.Errorf("parallel workers take no slot: %+v", tr)
	}
}

func TestDoubts(t *testing.T) {
	tests := []struct {
		name, rows string
		pid        int
		want       Doubt
	}{
		{"far apart", "1 AX t1\n2 AX t1 @1\n3 AS t1 @2", 3, ""},
		{"near", "1 AX t1\n2 AX t1 @1\n3 AS t1 @1.001", 3, DoubtClose},
		{"near but no conflict", "1 AX t1\n2 AS t1 @1\n3 AS t1 @1.001", 3, ""},
		{"not stamped", "1 AX t1\n2 AX t1 @1\n3 AS t1 @0", 2, DoubtStart},
		{"holds something", "1 AX t2\n1 AS t1\n4 S t1\n2 SUX t1 @1\n3 RX t1 @2\n3 AS t1", 3, ""},
	}
	for _, tt := range tests {
		f := Build(nil, reading(table(t, tt.rows)), nil)
		if n := f.Node(Key{PID: tt.pid}); n == nil || n.Doubt != tt.want {
			t.Errorf("%s: got %+v, want %q", tt.name, n, tt.want)
		}
	}
}

func TestObjects(t *testing.T) {
	n := newNames(&probes.Locks{Names: []probes.ObjectName{
		{Database: 5, Class: 1259, OID: 7, Name: "public.acct"},
		{Class: 1262, OID: 6, Name: "shop"},
	}})
	tests := []struct {
		tag  probes.LockTag
		want string
	}{
		{probes.LockTag{Type: "relation", Database: 5, Relation: 7}, "public.acct"},
		{probes.LockTag{Type: "relation", Database: 5, Relation: 8}, "relation 8"},
		{probes.LockTag{Type: "relation", Database: 6, Relation: 7}, "relation 7 of database shop"},
		{probes.LockTag{Type: "tuple", Database: 5, Relation: 7, Page: 4294967295, Tuple: 65535}, "row (4294967295,65535) of public.acct"},
		{probes.LockTag{Type: "page", Database: 5, Relation: 7, Page: 3}, "page 3 of public.acct"},
		{probes.LockTag{Type: "extend", Database: 5, Relation: 7}, "extension of public.acct"},
		{probes.LockTag{Type: "transactionid", XID: 748}, "transaction 748"},
		{probes.LockTag{Type: "virtualxid", VXID: "3/12"}, "virtual transaction 3/12"},
		{probes.LockTag{Type: "advisory", ClassID: 0xffffffff, ObjID: 0xfffffffb, ObjSubID: 1}, "advisory key -5"},
		{probes.LockTag{Type: "advisory", ClassID: 0xffffffff, ObjID: 0xfffffffe, ObjSubID: 2}, "advisory key (-1,-2)"},
		{probes.LockTag{Type: "advisory", ClassID: 815699643, ObjID: 3433053172, ObjSubID: 1}, "advisory key 3503403293476928500"},
		{probes.LockTag{Type: "object", ClassID: 1262}, "NOTIFY queue (commit lock)"},
		{probes.LockTag{Type: "object", ClassID: 1262, ObjID: 6}, "database shop"},
		{probes.LockTag{Type: "object", Database: 5, ClassID: 1255, ObjID: 9}, "catalog 1255 object 9"},
		{probes.LockTag{Type: "spectoken", Database: 748, ClassID: 2}, "speculative insertion 2 of transaction 748"},
		{probes.LockTag{Type: "spectoken", XID: 748, ObjID: 2}, "speculative insertion 2 of transaction 748"},
		{probes.LockTag{Type: "relation"}, ""},
	}
	for _, tt := range tests {
		if got := n.object(tt.tag); got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.tag, got, tt.want)
		}
	}
}

func TestAdvice(t *testing.T) {
	f := &Forest{At: epoch}
	tests := []struct {
		name              string
		s                 probes.Session
		cancel, terminate Effect
	}{
		{"active", probes.Session{State: "active"}, Frees, Frees},
		{"sleeping", probes.Session{State: "active", WaitEventType: "Timeout", WaitEvent: "PgSleep"}, Frees, Frees},
		{"idle in transaction", probes.Session{State: "idle in transaction", WaitEventType: "Client", WaitEvent: "ClientRead"}, Nothing, Frees},
		{"aborted", probes.Session{State: "idle in transaction (aborted)"}, Nothing, Frees},
		{"idle", probes.Session{State: "idle"}, Nothing, Frees},
		{"client does not read", probes.Session{State: "active", WaitEventType: "Client", WaitEvent: "ClientWrite"}, Nothing, Frees},
		{"COPY", probes.Session{State: "active", WaitEventType: "Client", WaitEvent: "ClientRead"}, Nothing, Frees},
		{"SyncRep", probes.Session{State: "active", WaitEventType: "IPC", WaitEvent: "SyncRep"}, Harmful, Harmful},
		{"autovacuum", probes.Session{Kind: "autovacuum worker", Query: "autovacuum: VACUUM public.t"}, Restarts, Restarts},
		{"wraparound", probes.Session{Kind: "autovacuum worker", Query: "autovacuum: VACUUM public.t (to prevent wraparound)"}, Harmful, Harmful},
		{"startup", probes.Session{Kind: "startup"}, Impossible, Impossible},
		{"walsender", probes.Session{Kind: "walsender"}, Harmful, Harmful},
		{"apply worker", probes.Session{Kind: "logical replication apply worker"}, Harmful, Harmful},
		{"launcher", probes.Session{Kind: "autovacuum launcher"}, Harmful, Harmful},
		{"somebody's extension", probes.Session{Kind: "pg_cron launcher"}, Harmful, Harmful},
		{"checkpointer", probes.Session{Kind: "checkpointer"}, Impossible, Impossible},
	}
	for _, tt := range tests {
		if tt.s.Kind == "" {
			tt.s.Kind = probes.KindClient
		}
		if a := f.Advise(&Node{Key: Key{PID: 1}, Session: &tt.s}); a.Cancel != tt.cancel || a.Terminate != tt.terminate || a.Why == "" {
			t.Errorf("%s: got %+v, want %s, %s", tt.name, a, tt.cancel, tt.terminate)
		}
	}
	if a := f.Advise(&Node{Key: Key{PID: 1}}); a.Terminate != Impossible || a.Why == "" {
		t.Errorf("not in activity: got %+v", a)
	}
	p := f.Advise(&Node{Key: Key{VXID: "3/1"}, Prepared: &probes.PreparedXact{GID: "it's", Owner: "app", Database: "shop"}})
	if want := "in database shop, as app or superuser: ROLLBACK PREPARED 'it''s'"; p.Instead != want {
		t.Errorf("got %q, want %q", p.Instead, want)
	}
}

func TestSuspects(t *testing.T) {
	at := func(s int) time.Time { return epoch.Add(time.Duration(s) * time.Second) }
	s := &probes.Snapshot{Sessions: []probes.Session{
		{PID: 1, State: "idle", XactStart: time.Time{}},
		{PID: 2, State: "active", XID: "9", XactStart: at(5)},
		{PID: 3, State: "idle in transaction", XactStart: at(3)},
		{PID: 4, State: "active", XactStart: at(1)},
		{PID: 5, State: "active", XID: "8", XactStart: at(0), WaitEventType: "Lock"},
		{PID: 6, State: "active", XID: "7", XactStart: at(0), LeaderPID: 2},
	}}
	var got []int
	for _, x := range Suspects(s) {
		got = append(got, x.PID)
	}
	if want := []int{3, 2}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
