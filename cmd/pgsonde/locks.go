package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/budget"
	"github.com/pgsonde/pgsonde/probes/waits"
	"github.com/pgsonde/pgsonde/tui/clean"
)

type locksCmd struct {
	target
	Watch   bool          `short:"w" help:"Read again at every interval until interrupted."`
	MinWait time.Duration `placeholder:"5s" help:"Only trees whose longest wait is at least this; the others are counted."`
}

// Run prints who waits for whom.
func (c *locksCmd) Run(a *app) error {
	if c.MinWait < 0 {
		return fmt.Errorf("--min-wait %s: a time is positive", c.MinWait)
	}
	file, s, err := a.openWithBudget(c.target)
	if err != nil {
		return err
	}
	defer s.Close()
	want := probes.Want{Locks: true}
	return a.each(s, want, c.Watch, func(snap *probes.Snapshot) error {
		f := waits.Build(snap, snap.Locks, file.RoleOf)
		f.Keep(c.MinWait)
		caps := budget.Use(file, snap).Caps()
		p := treePrinter{f: f, glyphs: treeGlyphs(a.cli.ASCII), caps: caps, least: c.MinWait, masked: snap.Server.Masked}
		p.suspects, p.suspected = suspects(a, s, f, file)
		findings := waits.Findings(f, caps)
		if a.cli.Format == "json" {
			err = a.printJSON(locksDocument(snap, f, findings, p.suspects))
		} else {
			err = a.print(func(w io.Writer) {
				if c.Watch {
					fmt.Fprintf(w, "-- %s\n", snap.At.UTC().Format("2006-01-02 15:04:05Z"))
				}
				p.w = w
				p.print(findings)
			})
		}
		switch {
		case err != nil:
			return err
		case f.Unread && !c.Watch:
			_, why := f.Trouble(duration)
			if f.Lacks != "" {
				why = f.Late + "; " + why
			}
			return fmt.Errorf("who waits for whom is not known: %s", why)
		}
		return a.verdict(findings)
	})
}

// suspects are the sessions that activity alone points at, when the locks are not
// known or old, as they are at a time.
func suspects(a *app, s *probes.Sampler, f *waits.Forest, file *budget.File) (out []*waits.Node, at time.Time) {
	if f.Late == "" || !f.Unread && f.Age < time.Second {
		return nil, time.Time{}
	}
	snap, err := s.Tick(a.ctx, probes.Want{Sessions: true})
	if err != nil {
		return nil, time.Time{}
	}
	for _, x := range waits.Suspects(snap) {
		out = append(out, &waits.Node{Key: waits.Key{PID: x.PID}, Session: &x, Role: file.RoleOf(x), Blocked: -1})
	}
	return out, snap.At
}

type branch struct{ hard, soft, lastHard, lastSoft, pipe, root, row string }

func treeGlyphs(ascii bool) branch {
	if ascii {
		return branch{"|- ", "|~ ", "`- ", "`~ ", "|  ", "* ", "-> "}
	}
	return branch{"├─ ", "├╌ ", "└─ ", "└╌ ", "│  ", "● ", "→ "}
}

// treePrinter prints a forest as text fit for a chat channel.
type treePrinter struct {
	w         io.Writer
	f         *waits.Forest
	glyphs    branch
	caps      map[string]int
	least     time.Duration // trees with shorter waits are hidden
	suspects  []*waits.Node
	suspected time.Time // when the suspects were read
	masked    bool      // this login sees no states and statements of other roles
}

func (p *treePrinter) print(findings []probes.Finding) {
	f := p.f
	p.late()
	if f.Unread {
		return
	}
	if f.Waiting() == 0 {
		if f.Late == "" {
			fmt.Fprintln(p.w, "nobody waits for a lock")
		}
		return
	}
	p.sum()
	for _, x := range findings {
		if x.Rule == waits.RuleDeadlock || x.Rule == waits.RuleCircle {
			writeFindings(p.w, []probes.Finding{x})
		}
	}
	for _, t := range f.Drawn() {
		fmt.Fprintln(p.w)
		p.tree(t)
	}
	for _, n := range f.Alone {
		fmt.Fprintf(p.w, "\n  %s  (its blocker is not known)\n", p.line(n))
	}
	for i := range f.SafeSnapshots {
		if f.SafeSnapshots[i].InTree() {
			continue
		}
		fmt.Fprintln(p.w)
		p.safe(&f.SafeSnapshots[i])
	}
}

// late says that the locks are not of now, and whom activity alone points at.
func (p *treePrinter) late() {
	if what, why := p.f.Trouble(duration); what != "" {
		fmt.Fprintf(p.w, "~ %s: %s\n", what, clean.Line(why))
	}
	for _, n := range p.suspects {
		fmt.Fprintf(p.w, "  suspect: %s\n", p.lineAt(n, p.suspected))
	}
}

// sum is the whole forest in a line.
func (p *treePrinter) sum() {
	f := p.f
	parts := []string{plural(f.Waiting(), "waiter"), plural(len(f.Drawn()), "tree")}
	if n := len(f.Cycles); n > 0 {
		parts = append(parts, plural(n, "circle"))
	}
	if n := len(f.SafeSnapshots); n > 0 {
		parts = append(parts, plural(n, "wait")+" for a safe snapshot")
	}
	fmt.Fprintln(p.w, strings.Join(parts, ", "))
	if f.Hidden > 0 {
		fmt.Fprintf(p.w, "~ %s below %s hidden\n", plural(f.Hidden, "tree"), p.least)
	}
	if n := len(f.Torn); n > 0 {
		fmt.Fprintf(p.w, "~ %s changed while this was read\n", plural(n, "session"))
	}
	if p.masked {
		fmt.Fprintln(p.w, "~ states and statements of other roles are hidden from this login: grant pg_read_all_stats")
	}
	if f.Unasked > 0 {
		fmt.Fprintf(p.w, "~ %d more waiters were not asked whom they wait for\n", f.Unasked)
	}
}

func (p *treePrinter) tree(t *waits.Tree) {
	var slots []string
	for _, role := range slices.SortedFunc(maps.Keys(t.ByRole), func(a, b string) int { return cmp.Or(t.ByRole[b]-t.ByRole[a], cmp.Compare(a, b)) }) {
		s := fmt.Sprintf("%s %d", role, t.ByRole[role])
		if n := p.caps[role]; n > 0 {
			s += fmt.Sprintf("/%d", n)
		}
		slots = append(slots, s)
	}
	head := plural(t.Victims, "victim")
	if c := p.f.Circle(t); c != nil {
		head += " of a circle (" + c.Words(p.f) + ")"
	}
	longest := duration(t.Longest)
	if t.Renewed() {
		longest += ", blocked at most " + duration(t.Blocked)
	}
	fmt.Fprintf(p.w, "%s, longest %s, pins %s: %s\n", clean.Line(head), longest, plural(t.Slots, "slot"), clean.Line(strings.Join(slots, ", ")))
	p.best(t.Best)
	fmt.Fprintf(p.w, "%s%s\n", p.glyphs.root, p.line(t.Root))
	p.notes(t.Root, "  ")
	p.children(t.Root, "")
}

// best is what to do, and the commands that do it when this login may.
func (p *treePrinter) best(a waits.Action) {
	if a.Text == "" {
		return
	}
	fmt.Fprintf(p.w, "%s%s\n", p.glyphs.row, clean.Line(a.Text))
	if a.Grant != "" {
		return
	}
	for _, s := range append([]waits.Step{{Verb: a.Verb, Key: a.Key}}, a.With...) {
		n := p.f.Node(s.Key)
		if n != nil && (s.Verb == waits.Cancel || s.Verb == waits.Terminate) && n.BackendID() != "" {
			fmt.Fprintf(p.w, "   pgsonde %s %s%s\n", s.Verb, n.BackendID(), p.forWhom(n))
		}
	}
}

// forWhom is the option that has it told whether that one was freed, "" when no
// session of its own waits for n.
func (p *treePrinter) forWhom(n *waits.Node) string {
	v := p.f.VictimOf(n)
	if v == 0 || p.f.Node(waits.Key{PID: v}) == nil && !slices.ContainsFunc(p.f.SafeSnapshots, func(s waits.SafeSnapshot) bool { return s.Waiter.Key.PID == v }) {
		return ""
	}
	return " --victim " + strconv.Itoa(v)
}

// safe is a session that waits for a safe snapshot, and those it waits for.
func (p *treePrinter) safe(s *waits.SafeSnapshot) {
	fmt.Fprintf(p.w, "1 waits for a safe snapshot until %s, for %s\n", plural(len(s.Blockers), "session")+" "+ends(len(s.Blockers)), duration(s.Wait))
	p.best(s.Best)
	fmt.Fprintf(p.w, "%s%s\n", p.glyphs.root, p.line(s.Waiter))
	for i, b := range s.Blockers {
		lead := p.glyphs.hard
		if i == len(s.Blockers)-1 {
			lead = p.glyphs.lastHard
		}
		fmt.Fprintf(p.w, "%s%s\n", lead, p.line(b))
	}
}

func ends(n int) string {
	if n == 1 {
		return "ends"
	}
	return "end"
}

func (p *treePrinter) children(n *waits.Node, indent string) {
	for i, c := range n.Children {
		last := i == len(n.Children)-1
		lead, below := p.glyphs.hard, p.glyphs.pipe
		soft := c.Edge != nil && c.Edge.Kind == waits.Soft
		switch {
		case last && soft:
			lead = p.glyphs.lastSoft
		case last:
			lead = p.glyphs.lastHard
		case soft:
			lead = p.glyphs.soft
		}
		if last {
			below = "   "
		}
		fmt.Fprintf(p.w, "%s%s%s\n", indent, lead, p.line(c))
		p.notes(c, indent+below)
		p.children(c, indent+below)
	}
}

func (p *treePrinter) notes(n *waits.Node, indent string) {
	for _, s := range p.f.Notes(n) {
		fmt.Fprintf(p.w, "%s   %s\n", indent, clean.Line(s))
	}
}

// line is one session: pid, role, state, what it waits for and how long, query.
func (p *treePrinter) line(n *waits.Node) string { return p.lineAt(n, p.f.At) }

// lineAt is line for a session as it was at a time.
func (p *treePrinter) lineAt(n *waits.Node, at time.Time) string {
	parts := []string{n.Key.String()}
	if n.Prepared != nil {
		parts = []string{"prepared", strconv.Quote(n.Prepared.GID)}
	}
	switch {
	case n.Role != "":
		parts = append(parts, n.Role)
	case n.Session != nil:
		parts = append(parts, n.Session.Kind)
	}
	if e := n.Edge; e != nil {
		long := duration(e.Wait)
		if e.Wait >= 0 && n.Blocked >= e.Wait+time.Second { // it waits anew
			long += ", blocked at most " + duration(n.Blocked)
		}
		parts = append(parts, want(e), long)
	}
	if s := n.Session; s != nil {
		if n.Edge == nil {
			parts = append(parts, s.State)
			if !s.XactStart.IsZero() {
				parts = append(parts, "tx "+duration(at.Sub(s.XactStart)))
			}
		}
		parts = append(parts, clip(oneLine(s.Query), 80))
	}
	if also := p.f.AlsoBlockedBy(n); len(also) > 0 && n.Queue == nil { // a row's queue says it once, at its root
		parts = append(parts, "(also behind "+keys(p.f, also)+")")
	}
	return clean.Line(strings.Join(parts, "  "))
}

// want is what a session waits for: a mode on an object, or the object alone where
// everybody wants it in the same mode.
func want(e *waits.Edge) string {
	s := waits.RowStrength(e.Tag, e.Mode)
	switch {
	case e.Object != "" && (e.LockType == "transactionid" || e.LockType == "virtualxid" || e.LockType == "spectoken" || e.LockType == "applytransaction"):
		s = e.Object
	case s == "":
		s = strings.TrimSuffix(e.Mode.String(), "Lock")
		fallthrough
	default:
		if e.Object != "" {
			s = strings.TrimPrefix(s+" on "+e.Object, " on ")
		}
	}
	if s == "" {
		s = e.LockType // the entries of the lock table are not known
	}
	if e.Kind == waits.Soft {
		s = "queued for " + s
	}
	return s
}

func keys(f *waits.Forest, ks []waits.Key) string {
	var s []string
	for i, k := range ks {
		if i == 4 {
			return strings.Join(s, ", ") + fmt.Sprintf(" and %d more", len(ks)-i)
		}
		s = append(s, f.Name(k))
	}
	return strings.Join(s, ", ")
}

// duration is age for a time.Duration; "?" unknown (negative).
func duration(d time.Duration) string {
	if d < 0 {
		return "?"
	}
	s := d.Seconds()
	return age(&s)
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}
