package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/pgsonde/pgsonde/probes/budget"
	"github.com/pgsonde/pgsonde/tui/clean"
)

// writePlan prints the budget as Markdown, fit for a design document and for a
// terminal of 80 columns: the scenarios beside the base, the base's roles, and
// for each sum that does not fit what would make it fit.
func writePlan(w io.Writer, file string, sums []*budget.Sum) {
	base := sums[0]
	fmt.Fprintf(w, "Connection budget of %s: %d slots, %d of them usable, %d kept free for operators.\n\n",
		clean.Line(filepath.Base(file)), base.MaxConnections, base.Usable, base.KeepFree)
	for _, line := range broken(clean.Line(overall(sums)), 80) {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintln(w)
	writeScenarios(w, sums)
	fmt.Fprintln(w)
	writePlanRoles(w, base)
	cured := false
	for _, s := range sums {
		writeProblems(w, s)
		cured = cured || len(s.Cures) > 0
	}
	if cured {
		fmt.Fprintln(w, "\nNot max_connections alone: raising it needs a restart and memory for every slot.")
	}
}

// outcomes are what a sum can come to, best first.
func outcomes() []string {
	return []string{string(budget.OK), string(budget.Low), "fails", string(budget.OverAtPeak), string(budget.Over)}
}

// worstSum is the first of the sums with the worst outcome.
func worstSum(sums []*budget.Sum) *budget.Sum {
	return slices.MaxFunc(sums, func(a, b *budget.Sum) int {
		return slices.Index(outcomes(), outcome(a)) - slices.Index(outcomes(), outcome(b))
	})
}

// overall says every outcome with its scenarios, the worst first.
func overall(sums []*budget.Sum) string {
	var parts []string
	for _, o := range slices.Backward(outcomes()) {
		var names []string
		for _, s := range sums {
			if outcome(s) == o {
				names = append(names, quoteList(s.Scenario))
			}
		}
		if len(names) > 0 {
			parts = append(parts, fmt.Sprintf("%s (%s)", o, strings.Join(names, ", ")))
		}
	}
	return "Overall: " + strings.Join(parts, "; ") + "."
}

// quoteList is a name as it stands in a list: in quotes when it has a comma.
func quoteList(name string) string {
	if strings.Contains(name, ",") {
		return strconv.Quote(name)
	}
	return name
}

// nameWidth is where names are broken, so that a table has 80 columns.
const nameWidth = 24

// writeScenarios prints a row for each scenario, the usable slots only when a
// scenario changes them.
func writeScenarios(w io.Writer, sums []*budget.Sum) {
	usable := slices.ContainsFunc(sums, func(s *budget.Sum) bool { return s.Usable != sums[0].Usable })
	t := paper{head: []string{"scenario", ">steady", ">jobs", ">surge", ">peak", ">left", "verdict"}}
	if usable {
		t.head = slices.Insert(t.head, 1, ">usable")
	}
	for _, s := range sums {
		row := []string{s.Scenario}
		if usable {
			row = append(row, strconv.Itoa(s.Usable))
		}
		row = append(row, strconv.Itoa(s.Steady), strconv.Itoa(s.Jobs), strconv.Itoa(s.Surge), strconv.Itoa(s.Peak), strconv.Itoa(s.Left))
		t.add(append(row, outcome(s))...)
	}
	t.write(w)
}

func writePlanRoles(w io.Writer, s *budget.Sum) {
	t := paper{head: []string{"role", "kind", "runs", ">copies", ">each", ">kept", ">cap", ">fits"}}
	groups, names := map[string][]string{}, []string{}
	for _, r := range s.Roles {
		t.add(r.Role, r.Kind, string(r.Runs), copiesText(r), strconv.Itoa(r.PerProcess), strconv.Itoa(r.Kept), strconv.Itoa(r.Cap), fitsCopies(s, r))
		if r.Group != "" && r.Runs == budget.RunsJob {
			if groups[r.Group] == nil {
				names = append(names, r.Group)
			}
			groups[r.Group] = append(groups[r.Group], r.Role)
		}
	}
	for _, p := range s.Poolers {
		t.add("pooler "+p.Pooler, "pooler", "always", strconv.Itoa(p.Instances), "", strconv.Itoa(p.Kept), strconv.Itoa(p.Cap), "")
	}
	if len(t.rows) == 0 {
		return
	}
	t.write(w)
	var notes []string
	for _, g := range names {
		notes = append(notes, fmt.Sprintf("One at a time (group %s): %s.", g, strings.Join(groups[g], ", ")))
	}
	for _, p := range s.Poolers {
		var via []string
		for _, r := range s.Roles {
			if r.Via == p.Pooler {
				via = append(via, r.Role)
			}
		}
		if len(via) > 0 {
			many := fmt.Sprintf("%d of the %d it lets in", p.Clients, p.MaxClients)
			if p.Clients > p.MaxClients {
				many = fmt.Sprintf("%d, %d more than it lets in", p.Clients, p.Clients-p.MaxClients)
			}
			notes = append(notes, fmt.Sprintf("Clients of %s, %s: %s.", p.Pooler, many, strings.Join(via, ", ")))
		}
	}
	if s.Manual > 0 {
		notes = append(notes, fmt.Sprintf("By hand and in no sum: %d.", s.Manual))
	}
	bullets(w, "", notes)
}

// fitsCopies is fitsText as copiesText writes it.
func fitsCopies(s *budget.Sum, r budget.RoleSum) string {
	if n, ok := s.Fit[r.Role+".processes"]; ok {
		return fmt.Sprintf("%d×%d", r.Replicas, n)
	}
	return fitsText(s, r)
}

// writeProblems prints what is wrong with a scenario and what would cure it.
func writeProblems(w io.Writer, s *budget.Sum) {
	var items []string
	for _, f := range s.Findings {
		item := f.Message
		if strings.HasPrefix(f.Rule, "peak-") || strings.HasPrefix(f.Rule, "steady-") {
			items = append(items, item) // its cures follow, all of them
			continue
		}
		items = append(items, item+": "+f.Action)
	}
	if len(items) == 0 {
		return
	}
	bullets(w, s.Scenario+": "+outcome(s), items)
	bullets(w, "What alone would make it fit", s.Cures)
}

// bullets prints a list under a title, broken at 80 columns.
func bullets(w io.Writer, title string, items []string) {
	if len(items) == 0 {
		return
	}
	fmt.Fprintln(w)
	if title != "" {
		fmt.Fprintf(w, "%s:\n\n", clean.Line(title))
	}
	for _, item := range items {
		for i, line := range broken(clean.Line(item), 78) {
			fmt.Fprintf(w, "%s%s\n", []string{"- ", "  "}[min(i, 1)], line)
		}
	}
}

// broken is text in lines of at most n columns where it has blanks.
func broken(text string, n int) []string {
	var out []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && clean.Width(line)+1+clean.Width(word) > n {
			out, line = append(out, line), ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(out, line)
}

// paper is a table in Markdown that reads well as it is. A header that starts
// with ">" is set to the right; a name that is too long goes on in the next row.
type paper struct {
	head []string
	rows [][]string
}

func (t *paper) add(cells ...string) {
	for i, line := range broken(cells[0], nameWidth) {
		row := make([]string, len(cells))
		if i == 0 {
			copy(row, cells)
		}
		row[0] = line
		t.rows = append(t.rows, row)
	}
}

func (t *paper) write(w io.Writer) {
	width := make([]int, len(t.head))
	head := make([]string, len(t.head))
	for i, h := range t.head {
		head[i] = strings.TrimPrefix(h, ">")
		width[i] = max(3, clean.Width(head[i]))
	}
	for _, r := range t.rows {
		for i := range r {
			r[i] = strings.ReplaceAll(clean.Line(r[i]), "|", `\|`)
			width[i] = max(width[i], clean.Width(r[i]))
		}
	}
	rule := make([]string, len(t.head))
	for i, h := range t.head {
		if rule[i] = strings.Repeat("-", width[i]); h[0] == '>' {
			rule[i] = rule[i][1:] + ":"
		}
	}
	for _, r := range slices.Concat([][]string{head, rule}, t.rows) {
		line := "|"
		for i, c := range r {
			pad := strings.Repeat(" ", width[i]-clean.Width(c))
			if t.head[i][0] == '>' {
				line += " " + pad + c + " |"
			} else {
				line += " " + c + pad + " |"
			}
		}
		fmt.Fprintln(w, line)
	}
}
