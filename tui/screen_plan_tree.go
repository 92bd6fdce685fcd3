package tui

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/pgsonde/pgsonde/explain"
	"github.com/pgsonde/pgsonde/explain/plan"
	"github.com/pgsonde/pgsonde/tui/clean"
	"github.com/pgsonde/pgsonde/tui/spark"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// planView draws one plan as lines.
type planView struct {
	plan   explain.Plan
	scans  []*explain.Scan
	side   string // before the keys of its nodes
	g      theme.Glyphs
	ascii  bool
	metric metric
	all    bool            // every condition of every node
	closed map[string]bool // folded nodes
	w      int

	most float64 // the largest own part, of the other plan too
	out  []docLine
}

// narrowPlan is the width under which bars are short and conditions take two
// lines.
const narrowPlan = 64

func (v *planView) bar() int {
	if v.w < narrowPlan {
		return 4
	}
	return 8
}

func (v *planView) lines() []docLine {
	if v.plan.Tree == nil {
		return nil
	}
	if !v.metric.has(v.plan.Tree) {
		v.metric = byCost
	}
	v.most = max(v.most, v.metric.most(v.plan.Root))
	v.node(v.plan.Root, v.side, "", "")
	return v.out
}

// titles heads the figures of a plan.
func (v *planView) titles() []theme.Span {
	m := v.metric
	if !m.has(v.plan.Tree) {
		m = byCost
	}
	return []theme.Span{{Role: theme.Dim, Text: fmt.Sprintf(" %s %*s", m, rowsWidth, "rows")}}
}

const rowsWidth = 9

// node adds a node and what hangs below it.
func (v *planView) node(n *plan.Node, key, lead, below string) {
	fold := ""
	if len(n.Children) > 0 {
		fold = v.g.Open + " "
		if v.closed[key] {
			fold = v.g.Closed + " "
		}
	}
	scan := v.scanOf(n)
	role, mark := scanMark(scan)
	name := theme.Normal
	if role == theme.Crit || role == theme.Warn {
		name = role
	}
	figures := v.figures(n, role)
	room := v.w - spansWidth(figures) - clean.Width(lead+fold)
	label := cleanFor(nodeLabel(n, room-clean.Width(mark)-2), v.ascii)
	if clean.Width(label)+2+clean.Width(mark) > room {
		label = cleanFor(nodeLabel(n, room), v.ascii)
	}
	left := []theme.Span{{Role: theme.Dim, Text: lead + fold}, {Role: name, Text: label}}
	apart := mark // where the line has no room for it
	if mark != "" && clean.Width(label)+2+clean.Width(mark) <= room {
		left = append(left, theme.Span{Text: "  "}, theme.Span{Role: role, Text: mark})
		apart = ""
	}
	v.out = append(v.out, docLine{left: left, right: figures, node: key})
	under := below
	if len(n.Children) > 0 && !v.closed[key] {
		under += v.g.Pipe
	} else {
		under += "   "
	}
	v.facts(n, scan, key, under, apart)
	if v.closed[key] {
		return
	}
	for i, c := range n.Children {
		branch, deeper := v.g.Tee, v.g.Pipe
		if i == len(n.Children)-1 {
			branch, deeper = v.g.Elbow, "   "
		}
		v.node(c, key+"."+strconv.Itoa(i), below+branch, below+deeper)
	}
}

func spansWidth(s []theme.Span) int {
	n := 0
	for _, x := range s {
		n += clean.Width(x.Text)
	}
	return n
}

// figures are the bar, the metric and the rows of a node.
func (v *planView) figures(n *plan.Node, role theme.Role) []theme.Span {
	if role != theme.Crit && role != theme.Warn {
		role = theme.Normal
	}
	full, rest := spark.Stack(v.g, v.metric.own(n), 0, max(v.most, 1e-9), v.bar())
	rows := short(n.PlanRows)
	if n.Actual != nil {
		rows = measuredRows(n)
	}
	rowRole := theme.Normal
	if misjudged(n) != 0 {
		rowRole = theme.Warn
	}
	if n.NeverExecuted() {
		rows, rowRole = "never ran", theme.Dim
	}
	return []theme.Span{
		{Text: " "},
		{Role: role, Text: full},
		{Role: theme.Dim, Text: rest},
		{Text: fmt.Sprintf("%8s", v.metric.text(n))},
		{Text: " "},
		{Role: rowRole, Text: fmt.Sprintf("%*s", rowsWidth, rows)},
	}
}

func (v *planView) scanOf(n *plan.Node) *explain.Scan {
	for _, s := range v.scans {
		if s.Node == n {
			return s
		}
	}
	return nil
}

// scanMark says where a scan starts, and how bad that is.
func scanMark(s *explain.Scan) (theme.Role, string) {
	if s == nil || s.Class.Starts() == "" {
		return theme.Normal, ""
	}
	words := map[string]string{"oldest": "starts at first row", "cursor": "starts at cursor", "first": "first page", "all": "reads all"}
	mark := words[s.Class.Starts()]
	switch {
	case s.Tiny():
		return theme.Dim, mark
	case s.Class.Starts() == "oldest":
		return theme.Crit, "! " + mark
	case s.Class == explain.FullSort && s.Limited:
		return theme.Warn, "~ " + mark
	case s.Class.Starts() == "cursor":
		return theme.OK, mark
	}
	return theme.Dim, mark
}

// facts adds what has to be said about a node, below it: what a guilty scan does,
// what was thrown away, a wrong estimate; with detail its conditions too.
func (v *planView) facts(n *plan.Node, scan *explain.Scan, key, under, apart string) {
	role, _ := scanMark(scan)
	guilty := role == theme.Crit || role == theme.Warn
	for _, c := range conditions(n) {
		if !v.all && !guilty && (scan == nil || c[0] != "Index Cond") {
			continue
		}
		most := 1
		switch {
		case v.all:
			most = 6
		case v.w < narrowPlan && v.w > minWidth:
			most = 2
		}
		text := c[0] + ": " + c[1]
		if apart == "" {
			v.fact(key, under, theme.Dim, text, most)
			continue
		}
		n := len(v.out)
		v.fact(key, under, theme.Dim, apart+" "+v.g.Dot+" "+text, most)
		if l := &v.out[n]; len(l.left) == 2 && strings.HasPrefix(l.left[1].Text, apart) {
			rest := l.left[1].Text[len(apart):]
			l.left = append(l.left[:1:1], theme.Span{Role: role, Text: apart}, theme.Span{Role: theme.Dim, Text: rest})
		}
		apart = ""
	}
	if apart != "" {
		v.fact(key, under, role, apart, 1)
	}
	if removed, ok := n.Removed(); ok && removed > 0 {
		kept, _ := n.TotalRows()
		share := 100 * removed / max(removed+kept, 1)
		if share >= 50 && removed >= 100 || v.all {
			r := theme.Dim
			if share >= 90 && removed >= 1000 {
				r = theme.Warn
			}
			v.fact(key, under, r, fmt.Sprintf("%s %s rows removed, %.4g %% of those read", theme.Sign(r), short(removed), share), 1)
		}
	}
	if f := misjudged(n); f != 0 {
		v.fact(key, under, theme.Warn, "~ "+estimate(f), 1)
	}
	if !v.all {
		return
	}
	text := fmt.Sprintf("cost %.2f to %.2f, %.0f rows of %d bytes expected", n.StartupCost, n.TotalCost, n.PlanRows, n.PlanWidth)
	if a := n.Actual; a != nil && a.Loops > 0 {
		text += fmt.Sprintf("; came %s x %s", short(a.Rows), short(a.Loops))
	}
	v.fact(key, under, theme.Dim, text, 1)
	if b := n.Buffers; b != nil {
		v.fact(key, under, theme.Dim, fmt.Sprintf("blocks: %s in memory, %s read; own %s (%s)", short(b.SharedHit), short(b.SharedRead), short(n.ExclusiveBlocks), mib(n.ExclusiveBlocks)), 1)
	}
	if scan != nil && scan.Why != "" {
		v.fact(key, under, theme.Dim, scan.Why, 4)
	}
}

// fact adds text below a node, on at most most lines.
func (v *planView) fact(key, under string, role theme.Role, text string, most int) {
	lead := under
	w := max(8, v.w-clean.Width(lead))
	lines := wrapText(cleanFor(clean.SQL(text, 4000), v.ascii), w)
	for i, l := range lines {
		if i == most {
			return
		}
		if i == most-1 && len(lines) > most {
			l = ansi.Truncate(l, w-2, "") + " " + v.g.Ellipsis
		}
		v.out = append(v.out, docLine{left: []theme.Span{{Role: theme.Dim, Text: lead}, {Role: role, Text: l}}, node: key})
	}
}
