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
	MinWait time.Duration `placeholder:"5s" help:"Only trees whose longest wait is at least this."`
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
		findings := waits.Findings(f, caps)
		if a.cli.Format == "json" {
			err = a.printJSON(locksDocument(snap, f, findings))
		} else {
			err = a.print(func(w io.Writer) {
				if c.Watch {
					fmt.Fprintf(w, "-- %s\n", snap.At.UTC().Format("2006-01-02 15:04:05Z"))
				}
				p := treePrinter{w: w, f: f, glyphs: treeGlyphs(a.cli.ASCII), caps: caps}
				p.print(snap, findings)
			})
		}
		if err != nil {
			return err
		}
		return a.verdict(findings)
	})
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
	w      io.Writer
	f      *waits.Forest
	glyphs branch
	caps   map[string]int
}

func (p *treePrinter) print(snap *probes.Snapshot, findings []probes.Finding) {
	f := p.f
	if f.Late != "" {
		fmt.Fprintf(p.w, "~ late, as of %s ago: %s\n", f.Age.Truncate(time.Second), clean.Line(f.Late))
		for _, s := range waits.Suspects(snap) {
			fmt.Fprintf(p.w, "  suspect: %d %s, transaction %s\n", s.PID, clean.Line(s.State), age(since(snap.At, s.XactStart)))
		}
	}
	if f.Waiters == 0 && len(f.SafeSnapshots) == 0 {
		if f.Late == "" {
			fmt.Fprintln(p.w, "nobody waits for a lock")
		}
		return
	}
	fmt.Fprintf(p.w, "%s, %s%s\n", plural(f.Waiters, "waiter"), plural(len(f.Trees), "tree"), circles(len(f.Cycles)))
	if f.Unasked > 0 {
		fmt.Fprintf(p.w, "~ %d more waiters were not asked whom they wait for\n", f.Unasked)
	}
	for _, x := range findings {
		if x.Rule == waits.RuleDeadlock {
			writeFindings(p.w, []probes.Finding{x})
		}
	}
	for _, t := range f.Trees {
		fmt.Fprintln(p.w)
		p.tree(t)
	}
	for _, c := range f.Cycles {
		if c.Tree != nil {
			fmt.Fprintln(p.w)
			p.tree(c.Tree)
		}
	}
	for _, n := range f.Alone {
		fmt.Fprintf(p.w, "\n  %s  (its blocker is not known)\n", p.line(n))
	}
	for _, s := range f.SafeSnapshots {
		fmt.Fprintf(p.w, "\n  %s  waits for a safe snapshot until these end:\n", p.line(s.Waiter))
		for _, b := range s.Blockers {
			fmt.Fprintf(p.w, "    %s\n", p.line(b))
		}
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
	fmt.Fprintf(p.w, "%s, longest %s, pins %s: %s\n", plural(t.Victims, "victim"), duration(t.Longest), plural(t.Slots, "slot"), clean.Line(strings.Join(slots, ", ")))
	if t.Best.Text != "" {
		fmt.Fprintf(p.w, "%s%s\n", p.glyphs.row, clean.Line(t.Best.Text))
		if n := p.f.Node(t.Best.Key); n != nil && (t.Best.Verb == waits.Cancel || t.Best.Verb == waits.Terminate) && n.BackendID() != "" {
			fmt.Fprintf(p.w, "   pgsonde %s %s\n", t.Best.Verb, n.BackendID())
		}
	}
	fmt.Fprintf(p.w, "%s%s\n", p.glyphs.root, p.line(t.Root))
	p.notes(t.Root, "  ")
	p.children(t.Root, "")
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
func (p *treePrinter) line(n *waits.Node) string {
	parts := []string{n.Key.String()}
	if n.Prepared != nil {
		parts = []string{"prepared", strconv.Quote(n.Prepared.GID)}
	}
	if n.Role != "" {
		parts = append(parts, n.Role)
	}
	if e := n.Edge; e != nil {
		wait := waits.RowStrength(e.Tag, e.Mode)
		if wait == "" {
			wait = strings.TrimSuffix(e.Mode.String(), "Lock")
		}
		if e.Object != "" {
			wait += " on " + e.Object
		}
		if e.Kind == waits.Soft {
			wait = "queued for " + wait
		}
		parts = append(parts, wait, duration(e.Wait))
	}
	if s := n.Session; s != nil {
		if n.Edge == nil {
			parts = append(parts, s.State)
			if !s.XactStart.IsZero() {
				parts = append(parts, "tx "+duration(p.f.At.Sub(s.XactStart)))
			}
		}
		parts = append(parts, clip(oneLine(s.Query), 80))
	}
	if also := p.f.AlsoBlockedBy(n); len(also) > 0 && n.Queue == nil { // a row's queue says it once, at its root
		parts = append(parts, "(also behind "+keys(also)+")")
	}
	return clean.Line(strings.Join(parts, "  "))
}

func circles(n int) string {
	if n == 0 {
		return ""
	}
	return ", " + plural(n, "circle")
}

func keys(ks []waits.Key) string {
	var s []string
	for i, k := range ks {
		if i == 4 {
			return strings.Join(s, ", ") + fmt.Sprintf(" and %d more", len(ks)-i)
		}
		s = append(s, k.String())
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
