package waits

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

// Notes are what a person should know about a node beyond its row, one line
// each, the most telling first.
func (f *Forest) Notes(n *Node) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if n.Doubt == DoubtTorn {
		add("changed while it was read: the next reading will tell")
	} else if n.Doubt == DoubtOld {
		add("%s", f.old())
	} else if n.Doubt != "" && n.Edge != nil && n.Edge.Kind == Soft {
		add("order in the queue is not proved: %s", n.Doubt)
	}
	if n.Prepared != nil {
		add("prepared transaction %q of %s in %s, %s old: no backend to end", n.Prepared.GID, n.Prepared.Owner,
			n.Prepared.Database, age(f.At.Sub(n.Prepared.Prepared)))
	} else if n.Key.Prepared() {
		add("a prepared transaction that pg_prepared_xacts does not name any more")
	}
	if slices.Contains(f.unled, n.Key.PID) && n.Key.PID != 0 {
		add("may be a parallel worker: of which session is hidden from this login")
	}
	if s := f.Stubs(n); s != "" {
		add("%s", s)
	}
	out = append(out, f.progressNotes(n)...)
	out = append(out, f.queueNotes(n)...)
	if s := n.Session; s != nil {
		out = append(out, sessionNotes(n, s)...)
	}
	return out
}

// old says what is not known of a wait that has no lock entries of its own instant.
func (f *Forest) old() string {
	switch {
	case f.Lacks != "":
		return "the lock table is refused to this login: for what it waits and how long is not known"
	case f.Entries < 0:
		return "lock table not read yet: for what it waits and how long is not known"
	}
	return fmt.Sprintf("lock table of %s earlier: what it waits for, how long and in what order may be others by now", age(f.Entries))
}

// Trouble says what is not known of who waits, and why, or which grant helps; "" of
// both: nothing. ago prints how old the reading is.
func (f *Forest) Trouble(ago func(time.Duration) string) (what, why string) {
	why = f.Late
	if f.Lacks != "" {
		why = f.rights.get(f.Lacks)
	}
	switch {
	case f.Late == "":
		return "", ""
	case f.Unread && f.Lacks != "":
		return "who waits is not known", why
	case f.Unread:
		return "who waits for whom is not known", why
	case f.Lacks != "":
		return "the lock table is refused", why
	case f.Age > 0:
		return "locks as of " + ago(f.Age) + " ago", why
	}
	return "not all is known of the locks", why
}

// Doubtful are how many waiters have no lock entries of their own instant.
func (f *Forest) Doubtful() int {
	n := 0
	for _, x := range f.nodes {
		if x != nil && x.Doubt == DoubtOld {
			n++
		}
	}
	return n
}

func (f *Forest) progressNotes(n *Node) []string {
	p := f.prog[n.Key.PID]
	if p == nil || n.Key.PID == 0 {
		return nil
	}
	s := p.Command
	if r := f.names.get(p.Database, classRelation, p.Relation); r != "" {
		s += " on " + r
	}
	s += ": " + p.Phase
	if p.Total > 0 && !strings.HasPrefix(p.Phase, "waiting") {
		s += fmt.Sprintf(", %d%%", 100*p.Done/p.Total)
	}
	out := []string{s}
	if p.LockersTotal > 0 {
		s := fmt.Sprintf("waits for transactions one after the other: %d of %d are over, now %d", p.LockersDone, p.LockersTotal, p.CurrentLocker)
		if then := f.then(n); then != "" {
			s += ", then " + then
		}
		if next := f.next(n); next != "" {
			s += ", in a later phase " + next
		}
		out = append(out, s)
	}
	return out
}

// queueNotes speak of a hot row, a multixact and a queued strong request.
func (f *Forest) queueNotes(n *Node) []string {
	var out []string
	rows := map[*Queue]bool{}
	for _, c := range n.Children {
		if q := c.Queue; q != nil && !rows[q] {
			rows[q] = true
			out = append(out, fmt.Sprintf("%s: %d at its head, %d queued behind; ending a waiter only promotes the next",
				cmp.Or(q.Object, "one row"), max(1, len(q.Heads)), q.Len))
		}
	}
	if e := n.Edge; e != nil {
		if behind := n.behindRequest(); strong(e.Mode) && e.LockType == "relation" && behind > 0 {
			readers := ""
			if e.Mode == probes.AccessExclusiveLock {
				readers = ", readers too"
			}
			out = append(out, fmt.Sprintf("its request for %s on %s holds up %s%s", e.Mode, e.Object, count(behind), readers))
		}
		if s := f.sharers(n); len(s) > 0 {
			until := "this one waits until all of them end"
			if !f.needsAll(n) {
				until += ", or only for some of them: it does not wait for a FOR KEY SHARE"
			}
			out = append(out, fmt.Sprintf("the row may be locked by more sessions than %s: %s; %s", f.Name(e.Blocker), f.list(s, "and"), until))
		} else if f.shareLocked(n) {
			out = append(out, "the row may be share-locked by more sessions than shown: the next appears when this one ends")
		}
		if _, row := f.g.row[e.WaiterPID]; e.LockType == "transactionid" && !row {
			switch {
			case makesSlot(n.Session):
				out = append(out, "a logical slot begins when all transactions that ran at its start have ended: this one, then the others")
			case strings.HasPrefix(e.Object, keyOf), strings.HasPrefix(e.Object, rowOf):
			case strings.HasPrefix(e.Object, rowOrKeyOf):
				out = append(out, "which of the two is not known")
			default:
				out = append(out, "for which row or unique key is not known")
			}
		}
	}
	return out
}

// makesSlot: the session makes a logical replication slot, by the command of a
// walsender or by the function.
func makesSlot(s *probes.Session) bool {
	if s == nil {
		return false
	}
	q := strings.ToLower(s.Query)
	return strings.Contains(q, "create_replication_slot") || strings.Contains(q, "pg_create_logical_replication_slot")
}

// behindRequest counts those drawn below n that queue behind its request, and who
// waits for them; those behind a lock that it has got already do not wait for that.
func (n *Node) behindRequest() int {
	count := 0
	for _, c := range n.Children {
		if e := c.Edge; e.Kind == Soft && e.Blocker == n.Key && e.Tag == n.Edge.Tag {
			count += 1 + c.Behind
		}
	}
	return count
}

// shareLocked guesses a multixact: the waiter holds the row's tuple lock while
// its blocker last asked for a shared row lock or wrote nothing to the row.
func (f *Forest) shareLocked(n *Node) bool {
	if f.touched.read || n.Edge == nil || n.Edge.LockType != "transactionid" || n.Parent == nil || n.Parent.Session == nil {
		return false
	}
	if _, row := f.g.row[n.Key.PID]; !row {
		return false
	}
	q := strings.ToLower(n.Parent.Session.Query)
	return strings.Contains(q, "for share") || strings.Contains(q, "for key share")
}

func sessionNotes(n *Node, s *probes.Session) []string {
	var out []string
	switch {
	case Wraparound(s):
		out = append(out, "autovacuum to prevent wraparound: not to be ended; cancel what waits for it")
	case s.Kind == "autovacuum worker":
		out = append(out, "autovacuum: cancelled by the waiter itself after deadlock_timeout")
	case s.Kind == "startup":
		out = append(out, "WAL replay: all of it stands still while it waits")
	case strings.HasPrefix(s.Kind, "logical replication"):
		out = append(out, "replication lags while this waits")
	}
	if n.Edge == nil && s.State != "active" && s.Kind == probes.KindClient {
		out = append(out, "the query shown is its last one, not necessarily the one that took the lock")
	}
	if n.Edge != nil && n.Edge.Tag.Type == "object" && n.Edge.Tag.ClassID == classDatabase && n.Edge.Tag.ObjID == 0 {
		out = append(out, "every commit with a NOTIFY, in all databases, queues here")
	}
	if n.Edge == nil && s.WaitEvent == "SyncRep" {
		out = append(out, "commits and waits for a synchronous standby")
	}
	return out
}

// age is a duration as people say it.
func age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return d.Round(time.Second).String()
	case d < 48*time.Hour:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

// Stubs says who waits for n and is drawn below another, "" nobody.
func (f *Forest) Stubs(n *Node) string {
	const most = 4
	var parts []string
	for i, k := range n.Elsewhere {
		if i == most {
			parts = append(parts, fmt.Sprintf("%d more", len(n.Elsewhere)-most))
			break
		}
		s := f.Name(k)
		if x := f.Node(k); x != nil && x.Parent != nil {
			s += " (shown under " + f.Name(x.Parent.Key) + ")"
		}
		parts = append(parts, s)
	}
	if len(parts) == 0 {
		return ""
	}
	return "also blocks " + strings.Join(parts, ", ")
}
