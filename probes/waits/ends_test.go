package waits

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

func shortKeys(ks []Key) string {
	var out []string
	for _, k := range ks {
		out = append(out, short(k))
	}
	return strings.Join(out, " ")
}

// TestEndsAtOnce: who could run at once decides the order and the advice; those
// in turn are an upper bound, for who is before them may keep its transaction.
func TestEndsAtOnce(t *testing.T) {
	tests := []struct {
		name, rows string
		ends       string // pid:at once+in turn, in order
		best       string // verb pid
		text       string // part of it
	}{
		{
			"a hot row", "1 X x1\n2 X row3\n2 S x1 @1\n3 X row3 @2\n4 X row3 @3\n5 X row3 @4",
			"1:1+3", "cancel 1", "frees 1 at once, up to 3 in turn",
		},
		{
			"a chain beside a crowd", "1 X x1\n2 X x2\n2 S x1 @1\n3 AX t3\n3 S x2 @2\n4 AS t3 @3\n5 AS t3 @4\n6 AS t3 @5",
			"1:1+4 3:3+0 2:1+3", "cancel 1", "frees 1 at once, up to 4 in turn",
		},
		{
			"a key that three want", "1 X x1\n2 S x1 @1\n3 S x1 @2\n4 S x1 @3",
			"1:1-3+0", "cancel 1", "frees 1 to 3 at once",
		},
		{
			"one beside the head of a row's queue", "1 X x1\n2 X row3\n2 S x1 @1\n3 S x1 @2\n4 X row3 @3",
			"1:1-2+1", "cancel 1", "frees 1 to 2 at once, up to 1 in turn",
		},
		{
			"two heads that share a row, and one beside them", "1 X x1\n2 RS row3\n2 S x1 @1\n3 RS row3\n3 S x1 @2\n4 S x1 @3",
			"1:1-3+0", "cancel 1", "frees 1 to 3 at once",
		},
		{
			"two heads that share a row", "1 X x1\n2 RS row3\n2 S x1 @1\n3 RS row3\n3 S x1 @2",
			"1:2+0", "cancel 1", "frees 2 sessions",
		},
		{
			"a queued ALTER with two behind it beats its root", "1 AS t1\n2 AX t1 @1\n3 AS t1 @2\n4 AS t1 @3",
			"1:1+2 2:2+0", "cancel 2", "frees 2 and loses no committed work; the root 1: 1 at once, up to 2 in turn",
		},
		{
			"a queued ALTER with one behind it is as good as its root", "1 AS t1\n2 AX t1 @1\n3 AS t1 @2",
			"1:1+1 2:1+0", "cancel 2", "frees 1 and loses no committed work; the root 1: 1 at once, up to 1 in turn",
		},
		{
			"more wait for the root's row than in the queue", "1 AS t1\n1 X x1\n2 AX t1 @1\n3 AS t1 @2\n4 X row4\n4 S x1 @3\n5 X row5\n5 S x1 @4",
			"1:3+1 2:1+0", "cancel 1", "frees 3 at once, up to 1 in turn",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := Build(nil, reading(table(t, tt.rows)), nil)
			tr := f.Trees[0]
			var got []string
			for _, e := range tr.Ends {
				direct := itoa(e.Direct)
				if e.Most > e.Direct {
					direct += "-" + itoa(e.Most)
				}
				got = append(got, short(e.Key)+":"+direct+"+"+itoa(e.InTurn()))
			}
			if s := strings.Join(got, " "); s != tt.ends {
				t.Errorf("ends: got %s, want %s", s, tt.ends)
			}
			if s := string(tr.Best.Verb) + " " + short(tr.Best.Key); s != tt.best || !strings.Contains(tr.Best.Text, tt.text) {
				t.Errorf("best: got %s, %q, want %s, %q", s, tr.Best.Text, tt.best, tt.text)
			}
		})
	}
}

func itoa(n int) string { return string(rune('0' + n)) } // of a digit

// TestWorkersOfOneGroup: a lock group whose members wait for several sessions runs
// when all of them have ended, and is no waiter "in turn".
func TestWorkersOfOneGroup(t *testing.T) {
	l := reading(table(t, "1 AX t1\n2 AX t2\n30 AS t1 @1\n31 AS t2 @2\n4 AX t3\n5 AS t3 @3\n50 AS t3 @4\n6 X x6\n7 S x6 @5"))
	for i := range l.Procs {
		if p := &l.Procs[i]; p.PID >= 30 {
			p.Kind, p.LeaderPID = "parallel worker", p.PID/10
		}
	}
	l.Procs = append(l.Procs, probes.Session{PID: 3, Kind: probes.KindClient, User: "app"})
	f := Build(nil, l, nil)
	for range 2 { // nothing of an earlier question is left over
		for _, tt := range []struct {
			ends   []int
			frees  string
			direct int
		}{{[]int{6}, "7", 1}, {[]int{1}, "", 0}, {[]int{2}, "", 0}, {[]int{1, 2}, "3", 1}, {[]int{4}, "5", 1}} {
			var xs []int
			for _, pid := range tt.ends {
				p, _ := f.g.find(Key{PID: pid})
				xs = append(xs, p)
			}
			if e := f.sim.end(xs...); shortKeys(e.Frees) != tt.frees || e.Direct != tt.direct {
				t.Errorf("ending %v: got %v, %d at once, want %s, %d", tt.ends, e.Frees, e.Direct, tt.frees, tt.direct)
			}
		}
	}
}

// TestTogether: where one end frees nobody the advice names all that must end.
func TestTogether(t *testing.T) {
	idle := func(s *probes.Session) { s.State = "idle in transaction" }
	tests := []struct {
		name, rows string
		set        map[int]func(*probes.Session)
		verb       Verb
		with       string
		frees      int
		text       string
	}{
		{
			"a table held by two", "1 S t1\n2 S t1\n3 RX t1 @1",
			map[int]func(*probes.Session){1: idle},
			Terminate, "2", 1, "end both (terminate 1 and cancel 2): frees 1 session; one alone frees nobody",
		},
		{
			"by three, and a queue behind", "1 RS t1\n2 RS t1\n3 RS t1\n4 X t1 @1\n5 X t1 @2", nil,
			Cancel, "2 3", 2, "end all 3 (cancel 1, 2 and 3): frees 1 at once, up to 1 in turn",
		},
		{
			"one of them prepared", "p8 S t1\n2 S t1\n3 RX t1 @1", nil,
			Cancel, "p8", 1, "end both (cancel 2 and roll back prepared transaction 8/1)",
		},
		{
			"one of them stands in a circle", "1 S t1\n2 S t1\n2 X x2\n3 X x3\n2 S x3 @1\n3 S x2 @2\n4 RX t1 @3", nil,
			Other, "", 0, "ending 1 alone frees nobody",
		},
		{
			"two ways up, to the same two", "1 X x1\n2 X x2\n3 S x1 @1\n4 S x2 @2\n3 S t1\n4 S t1\n5 RX t1 @3", nil,
			Cancel, "", 1, "cancel 1: frees 1 session",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := reading(table(t, tt.rows))
			for i := range l.Procs {
				if set := tt.set[l.Procs[i].PID]; set != nil {
					set(&l.Procs[i])
				}
			}
			f := Build(nil, l, nil)
			var a Action
			for _, tr := range f.Trees {
				if k := short(tr.Root.Key); k == "1" || k == "2" && tt.name == "one of them prepared" {
					a = tr.Best
				}
			}
			var with []Key
			for _, s := range a.With {
				with = append(with, s.Key)
			}
			if a.Verb != tt.verb || shortKeys(with) != tt.with || a.Frees != tt.frees || !strings.Contains(a.Text, tt.text) {
				t.Errorf("got %+v, want %s with %s freeing %d: %s", a, tt.verb, tt.with, tt.frees, tt.text)
			}
		})
	}
}

// TestStubs: a waiter with two roots is drawn once, and the other root says so.
func TestStubs(t *testing.T) {
	f := Build(nil, reading(table(t, "1 AS t1\n2 RX t1\n3 AX t1 @1\n4 AS t1 @2")), nil)
	if len(f.Trees) != 2 {
		t.Fatalf("got %d trees", len(f.Trees))
	}
	for _, tr := range f.Trees {
		if tr.Victims != 2 || tr.Longest != 59*time.Second {
			t.Errorf("tree of %v: got %d victims, longest %v", tr.Root.Key, tr.Victims, tr.Longest)
		}
	}
	if got, want := strings.Join(f.Notes(f.Node(Key{PID: 2})), "; "), "also blocks 3 (shown under 1)"; !strings.Contains(got, want) {
		t.Errorf("got notes %q, want %q", got, want)
	}
	if got := f.Stubs(f.Node(Key{PID: 1})); got != "" {
		t.Errorf("the root that has it: got %q", got)
	}
}

func TestCircleCounts(t *testing.T) {
	l := reading(table(t, "1 X x1\n2 X x2\n1 S x2 @1\n2 S x1 @20\n3 S x1 @30\n8 X x8\n9 S x8 @50"))
	for i := range l.Procs {
		l.Procs[i].QueryStart = time.Time{}
	}
	f := Build(nil, l, nil)
	drawn := f.Drawn()
	if len(drawn) != 2 || len(f.Trees) != 1 || f.Circle(drawn[0]) == nil || f.Circle(drawn[1]) != nil {
		t.Fatalf("got %d trees, the first of a circle %v", len(drawn), f.Circle(drawn[0]) != nil)
	}
	tr := drawn[0]
	if tr.Victims != 3 || tr.Longest != 59*time.Second || tr.Slots != 3 {
		t.Errorf("got %d victims, longest %v, %d slots; want all three, 59s", tr.Victims, tr.Longest, tr.Slots)
	}
	if got := f.Circle(tr).Words(f); got != "1, 2" {
		t.Errorf("members: got %q", got)
	}
	found := false
	for _, x := range Findings(f, nil) {
		found = found || x.Rule == RuleDeadlock && strings.Contains(x.Message, "in a circle: 1, 2")
	}
	if !found {
		t.Errorf("no finding names the circle: %+v", Findings(f, nil))
	}
	f.Keep(11 * time.Second)
	if f.Hidden != 1 || len(f.Drawn()) != 1 || f.Waiters != 4 {
		t.Errorf("kept: got %d hidden, %d drawn, %d waiters", f.Hidden, len(f.Drawn()), f.Waiters)
	}
	f.Keep(2 * time.Minute)
	if f.Hidden != 2 || len(f.Drawn()) != 0 || len(f.Cycles) != 0 {
		t.Errorf("kept: got %d hidden, %d drawn, %d circles", f.Hidden, len(f.Drawn()), len(f.Cycles))
	}
}

// TestBlockedSince: how long the present wait has lasted is known, and counts. Who
// waits for a row or a key may have waited for it before, since its statement began at
// most; but a batch that meets a lock at its end has not waited for all that time.
func TestBlockedSince(t *testing.T) {
	l := reading(table(t, "1 X x1\n2 S x1 @55\n3 X row3\n3 S x1 @55\n4 X row3 @59\n8 AX t8\n9 AS t8 @58"))
	f := Build(nil, l, nil)
	for pid, want := range map[int]time.Duration{2: time.Minute, 3: time.Minute, 4: time.Minute, 9: 2 * time.Second, 1: -1} {
		if got := f.Node(Key{PID: pid}).Blocked; got != want {
			t.Errorf("%d: got blocked %v at most, want %v", pid, got, want)
		}
	}
	if e := f.Node(Key{PID: 2}).Edge; e.Wait != 5*time.Second {
		t.Errorf("this wait: got %v, want 5s", e.Wait)
	}
	if tr := f.Trees[0]; tr.Longest != 5*time.Second || tr.Blocked != time.Minute || !tr.Renewed() {
		t.Errorf("got longest %v, blocked %v at most", tr.Longest, tr.Blocked)
	}
	x := Findings(f, nil)[0]
	if x.Severity != probes.Warn || !strings.Contains(x.Message, "the longest 5s, blocked at most 1m") || *x.SinceS != 5 {
		t.Errorf("got %+v", x)
	}
	f.Keep(4 * time.Second)
	if len(f.Trees) != 1 || f.Trees[0].Longest != 5*time.Second || f.Hidden != 1 {
		t.Errorf("got %d trees, %d hidden", len(f.Trees), f.Hidden)
	}
}

// TestWaitOfOldEntries: a wait that the entries of an earlier reading do not have has
// lasted for a time that is not known, no longer than its statement.
func TestWaitOfOldEntries(t *testing.T) {
	l := reading(table(t, "1 AX t1\n2 AS t1 @1"))
	l.Reading, l.Rows = probes.ReadEdges, nil
	l.Waits = []probes.LockWait{{PID: 2, LockType: "relation", Blockers: []int{1}}}
	f := Build(nil, l, nil)
	tr := f.Trees[0]
	if e := f.Node(Key{PID: 2}).Edge; e.Wait != -1 || tr.Longest != -1 || tr.Blocked != time.Minute {
		t.Errorf("got wait %v, longest %v, blocked %v at most", e.Wait, tr.Longest, tr.Blocked)
	}
	x := Findings(f, nil)[0]
	if x.Severity != probes.Error || !strings.Contains(x.Message, ", blocked at most 1m") || x.SinceS != nil {
		t.Errorf("got %+v", x)
	}
}

// TestCancelAtMost: a cancel undoes to an open savepoint only; what a statement that
// began its transaction has locked goes with it.
func TestCancelAtMost(t *testing.T) {
	for _, tt := range []struct {
		name, rows, query string
		inside            bool // a transaction of several statements
		nested            bool
		most              bool
		best              string
	}{
		{"one statement", "1 X x1\n2 S x1 @1", "update t", false, false, false, "cancel 1: frees 1 session"},
		{"one message", "1 X x1\n2 S x1 @1", "begin; update t; savepoint s; select 1", false, false, true, "cancel 1: frees at most 1 session"},
		{"in a transaction", "1 X x1\n2 S x1 @1", "select 1", true, false, true, "terminate for sure"},
		{"with subtransactions", "1 X x1\n2 S x1 @1", "select 1", true, true, true, "terminate 1: frees 1 session"},
		{"a queued request", "1 AX t1\n2 AX t1 @1\n3 AS t1 @2", "alter table t", true, true, false, ""},
		{"in a circle", "1 X x1\n2 X x2\n1 S x2 @1\n2 S x1 @2", "update t", true, false, true, "frees at most 1 session"},
		{"an advisory key", "1 X a1\n2 X a1 @1", "select pg_advisory_lock(1), pg_sleep(9)", false, false, true, "an advisory key may be the session's"},
		{"code", "1 X x1\n2 S x1 @1", "/* job */ do $$begin perform f(); end$$", false, false, true, "cancel 1: frees at most 1 session (its code may catch the cancel"},
		{"a procedure", "1 X x1\n2 S x1 @1", "call f()", false, false, true, "its code may catch the cancel"},
		{"of several", "1 S t1\n2 S t1\n3 RX t1 @1", "select 1", true, false, true, "frees at most 1 session"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := reading(table(t, tt.rows))
			for i := range l.Procs {
				p := &l.Procs[i]
				p.Query, p.XactStart = tt.query, epoch
				if tt.inside {
					p.XactStart = epoch.Add(-time.Hour)
				}
				if tt.nested {
					l.Nested = append(l.Nested, p.PID)
				}
			}
			f := Build(nil, l, nil)
			tree := f.Drawn()[0]
			n := tree.Root
			if tt.name == "a queued request" {
				n = f.Node(Key{PID: 2})
			}
			if a := f.Advise(n); a.AtMost != tt.most {
				t.Errorf("got %+v, want at most %v", a, tt.most)
			}
			if !strings.Contains(tree.Best.Text, tt.best) || tree.Best.AtMost != (tt.most && tree.Best.Verb == Cancel) {
				t.Errorf("best: got %+v, want %q", tree.Best, tt.best)
			}
		})
	}
}

// TestRollbackPrepared: the statement works when it is pasted.
func TestRollbackPrepared(t *testing.T) {
	for gid, want := range map[string]string{
		"move 4711":   `ROLLBACK PREPARED 'move 4711'`,
		"it's":        `ROLLBACK PREPARED 'it''s'`,
		"a\nb\x1b[2J": `ROLLBACK PREPARED E'a\x0ab\x1b[2J'`,
		`c:\new`:      `ROLLBACK PREPARED E'c:\\new'`,
		"\u202eabc":   `ROLLBACK PREPARED E'\U0000202eabc'`,
		"größe":       `ROLLBACK PREPARED 'größe'`,
	} {
		if got := RollbackPrepared(gid); got != want {
			t.Errorf("%q: got %s, want %s", gid, got, want)
		}
	}
}

func TestUnread(t *testing.T) {
	for _, tt := range []struct {
		name string
		l    *probes.Locks
		want bool
	}{
		{"nobody waits", nil, false},
		{"no reading yet", &probes.Locks{Late: "late"}, true},
		{"too old a server, and somebody waits", &probes.Locks{At: epoch, Reading: probes.ReadIdle, Late: "13", Waiting: 2}, true},
		{"the table is refused and nobody waits", &probes.Locks{At: epoch, Reading: probes.ReadIdle, Late: "permission denied"}, false},
		{"an old reading", &probes.Locks{At: epoch, Reading: probes.ReadDetail, Late: "late", Rows: table(t, "1 X x1\n2 S x1 @1")}, false},
	} {
		if f := Build(nil, tt.l, nil); f.Unread != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, f.Unread, tt.want)
		}
	}
}

// TestRights: what this login may not do is not recommended; the grant is.
func TestRights(t *testing.T) {
	limits := probes.Limits{Roles: []probes.RoleLimit{{Name: "postgres", OID: 10, Superuser: true}, {Name: "app", OID: 20}, {Name: "peer", OID: 30, Member: true}}}
	server := func(super, signal bool) probes.Server {
		return probes.Server{VersionNum: 160000, User: "ops", Superuser: super, CanSignal: signal}
	}
	tests := []struct {
		name          string
		super, signal bool
		owner         uint32
		kind, grant   string
	}{
		{"superuser", true, true, 10, "", ""},
		{"no grant", false, false, 20, "", "pg_signal_backend"},
		{"no grant, a superuser's", false, false, 10, "", "superuser"},
		{"may signal", false, true, 20, "", ""},
		{"may signal, a superuser's", false, true, 10, "", "superuser"},
		{"a member of its role", false, false, 30, "", ""},
		{"masked", false, true, 20, probes.KindMasked, "pg_read_all_stats"},
		{"masked, and may not signal", false, false, 20, probes.KindMasked, "pg_read_all_stats, pg_signal_backend"},
		{"masked, a superuser's", false, true, 10, probes.KindMasked, "superuser"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := reading(table(t, "1 X x1\n2 S x1 @1"))
			for i := range l.Procs {
				l.Procs[i].UserOID = tt.owner
				if tt.kind != "" {
					l.Procs[i].Kind = tt.kind
				}
			}
			f := Build(&probes.Snapshot{Server: server(tt.super, tt.signal), Limits: limits}, l, nil)
			a, best := f.Advise(f.Trees[0].Root), f.Trees[0].Best
			if a.Grant != tt.grant || (a.Terminate == Impossible) != (tt.grant != "") {
				t.Errorf("advice: got %+v, want grant %q", a, tt.grant)
			}
			if tt.kind == "" && best.Grant != tt.grant || tt.grant != "" && !strings.Contains(best.Text, tt.grant) {
				t.Errorf("best: got %+v, want grant %q", best, tt.grant)
			}
		})
	}
}

// TestEndsInCircle: one who waits behind another of its circle in a queue is moved before
// that one when the deadlock detector looks: until then nobody of the two is sure.
func TestEndsInCircle(t *testing.T) {
	const circle = "1 AS t1\n2 AX t1 @1\n3 X x3\n3 AS t1 @2\n1 S x3 @3"
	for _, tt := range []struct {
		name, rows string
		end        int
		want       string
	}{
		{"its holder ends", circle, 1, "0-2 2 3"},
		{"one behind the circle", circle + "\n4 AS t1 @4", 1, "0-2 2 3 4"},
		{"all before it are passed", "4 AX t1 @0.1\n" + circle, 1, "0-3 4 2 3"},
		{"the one who is passed ends", circle, 2, "1-1 3 1"},
		{"a circle elsewhere", circle + "\n5 X x5\n6 S x5 @5", 5, "1-1 6"},
		{"a circle beside it", "1 RS t1\n2 X t1 @1\n3 X x3\n3 RS t1 @2\n1 S x3 @3\n5 AS t1\n5 X x5\n6 S x5 @5", 5, "1-1 6"},
		{"no circle", "1 AS t1\n2 AX t1 @1\n3 X x3\n3 AS t1 @2", 1, "1-1 2 3"},
	} {
		f := Build(nil, reading(table(t, tt.rows)), nil)
		e := f.WhatIf(Key{PID: tt.end})
		if got := fmt.Sprintf("%d-%d %s", e.Direct, e.Most, shortKeys(e.Frees)); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestWaitsForOthersUnsaid: a command that waits for one transaction after the other and
// has no progress of its own is not sure to run, whoever else has some.
func TestWaitsForOthersUnsaid(t *testing.T) {
	l := reading(table(t, "1 X a1\n2 S a1 @1"))
	for i := range l.Rows {
		l.Rows[i].Tag = probes.LockTag{Type: "virtualxid", VXID: "3/1"}
	}
	for _, progress := range [][]probes.Progress{nil, {{PID: 99, Command: "VACUUM"}}} {
		l.Progress = progress
		for range 2 { // whichever process comes first
			if e := Build(nil, l, nil).WhatIf(Key{PID: 1}); e.Direct != 0 || e.Most != 1 {
				t.Errorf("%d of others' progress: got %d to %d, want 0 to 1", len(progress), e.Direct, e.Most)
			}
			l.Procs[0], l.Procs[1] = l.Procs[1], l.Procs[0]
		}
	}
}
