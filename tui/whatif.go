package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pgsonde/pgsonde/probes/budget"
	"github.com/pgsonde/pgsonde/tui/clean"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// whatIf is a panel in which sizes of the budget are tried: the sum follows,
// beside the base. Nothing is written.
type whatIf struct {
	use       *budget.Usage // of the reading behind: its limits, and what is free
	rows      []whatRow
	row       int
	surge     []string
	base, sum *budget.Sum
	err       string // why the last change does not add up
}

// whatRow is a role or a pooler with its sizes.
type whatRow struct {
	owner string
	role  bool
	sizes []budget.Size
	was   []int
	col   int
}

// openWhatIf opens the panel at a role or pooler, or says why there is none.
func openWhatIf(f *frame, at string) result {
	if p := newWhatIf(f.use, at); p != nil {
		return result{open: p}
	}
	return result{say: "no budget file with roles: there is nothing to change"}
}

// newWhatIf opens the panel at a role; nil without a budget.
func newWhatIf(use *budget.Usage, at string) *whatIf {
	f := use.Budget()
	if f == nil {
		return nil
	}
	p := &whatIf{use: use}
	add := func(owner string, role bool, sizes []budget.Size) {
		r := whatRow{owner: owner, role: role, sizes: sizes}
		for _, s := range sizes {
			r.was = append(r.was, s.Value)
		}
		if owner == at {
			p.row = len(p.rows)
		}
		p.rows = append(p.rows, r)
	}
	for _, r := range f.Roles {
		add(r.Name, true, f.RoleSizes(r.Name))
	}
	for _, b := range f.Poolers {
		add(b.Name, false, f.PoolerSizes(b.Name))
	}
	base, err := use.WhatIf(nil, nil)
	if err != nil || len(p.rows) == 0 {
		return nil
	}
	p.base, p.sum = base, base
	return p
}

// load takes a new reading: the panel goes on from what is free now.
func (p *whatIf) load(f *frame) {
	use := f.use
	if use.Budget() == nil {
		return
	}
	base, err := use.WhatIf(nil, nil)
	if err != nil {
		return
	}
	p.use, p.base = use, base
	p.add()
}

func (p *whatIf) title() string { return "What if (nothing is written)" }

func (p *whatIf) key(k string, a action) (result, bool) {
	r := &p.rows[p.row]
	switch {
	case a == actBack, a == actQuit, a == actWhatIf, a == actEnter:
		return result{}, true
	case k == "+", k == "=":
		p.change(r, 1)
	case k == "-":
		p.change(r, -1)
	case k == "0":
		for i := range r.sizes {
			r.sizes[i].Value = r.was[i]
		}
		p.add()
	case k == "d":
		p.deploy(r)
	case a == actUp:
		p.row = max(0, p.row-1)
	case a == actDown:
		p.row = min(len(p.rows)-1, p.row+1)
	case a == actTop:
		p.row = 0
	case a == actBottom:
		p.row = len(p.rows) - 1
	case a == actLeft:
		r.col = max(0, r.col-1)
	case a == actRight:
		r.col = min(len(r.sizes)-1, r.col+1)
	}
	return result{}, false
}

// mostSize is as large as a number in a budget file may be, near enough.
const mostSize = 100_000

func (p *whatIf) change(r *whatRow, by int) {
	s := &r.sizes[r.col]
	old := s.Value
	s.Value = max(s.Least, min(s.Value+by, mostSize))
	if p.add(); p.err != "" {
		s.Value = old // no such budget: the message says why
	}
}

// deploy switches a rolling deploy of a role on or off.
func (p *whatIf) deploy(r *whatRow) {
	if !r.role {
		return
	}
	if i := slices.Index(p.surge, r.owner); i >= 0 {
		p.surge = slices.Delete(p.surge, i, i+1)
	} else {
		p.surge = append(p.surge, r.owner)
	}
	p.add()
}

// add adds up again.
func (p *whatIf) add() {
	var changes []budget.Change
	for _, r := range p.rows {
		for i, s := range r.sizes {
			if s.Value != r.was[i] {
				changes = append(changes, budget.Change{Owner: r.owner, Size: s.Name, Value: s.Value})
			}
		}
	}
	sum, err := p.use.WhatIf(changes, p.surge)
	if err != nil {
		p.err = err.Error()
		return
	}
	p.sum, p.err = sum, ""
}

func (p *whatIf) draw(t *theme.Theme, w, h int) []string {
	foot := p.sums(t, w, h)
	n := max(1, min(len(p.rows), h-len(foot)))
	top := max(0, min(p.row-n/2, len(p.rows)-n))
	var out []string
	for i := top; i < min(top+n, len(p.rows)); i++ {
		out = append(out, p.line(t, i, w))
	}
	return append(out, foot...)
}

// line is one role or pooler: its sizes, the one under the cursor in brackets,
// and what it comes to.
func (p *whatIf) line(t *theme.Theme, i, w int) string {
	r := &p.rows[i]
	here := i == p.row
	mark, name := " ", theme.Normal
	if here {
		mark, name = t.Select, theme.Strong
	}
	left := []theme.Span{{Role: theme.Key, Text: mark}, {Role: name, Text: t.Fit(r.owner, max(8, min(16, w/4)), false) + " "}}
	first := p.firstSeen(t, r, w)
	if !here {
		first = 0
	}
	for k := first; k < len(r.sizes); k++ {
		text, role := sizeText(t, r, k), theme.Dim
		if r.sizes[k].Value != r.was[k] {
			role = theme.Mark
		}
		if here && k == r.col {
			left = append(left, theme.Span{Role: theme.Key, Text: "[" + text + "] "})
			continue
		}
		left = append(left, theme.Span{Role: role, Text: " " + text + " "})
	}
	was, now := p.part(p.base, r), p.part(p.sum, r)
	right := strconv.Itoa(now)
	if was != now {
		right = strconv.Itoa(was) + t.Arrow + right
	}
	if slices.Contains(p.surge, r.owner) {
		right = "deploy " + right
	}
	if x := p.use.Budget().Role(r.owner); r.role && x.Runs != budget.RunsAlways {
		right = string(x.Runs) + " " + right
	}
	return t.Split(w, left, []theme.Span{{Text: " " + right}})
}

// firstSeen is the first size to draw so that the one under the cursor is seen.
func (p *whatIf) firstSeen(t *theme.Theme, r *whatRow, w int) int {
	room := w - max(8, min(16, w/4)) - 2 - 24 // the name, and what it comes to
	for first := 0; first < r.col; first++ {
		n := 0
		for k := first; k <= r.col; k++ {
			n += clean.Width(sizeText(t, r, k)) + 2
		}
		if n <= room {
			return first
		}
	}
	return r.col
}

// sizeText is a size as it is, and as it was where it differs.
func sizeText(t *theme.Theme, r *whatRow, k int) string {
	s := r.sizes[k]
	if s.Value != r.was[k] {
		return s.Name + " " + strconv.Itoa(r.was[k]) + t.Arrow + strconv.Itoa(s.Value)
	}
	return s.Name + " " + strconv.Itoa(s.Value)
}

// part is what a row comes to, its deploy included.
func (p *whatIf) part(s *budget.Sum, r *whatRow) int {
	if !r.role {
		i := slices.IndexFunc(s.Poolers, func(x budget.PoolerSum) bool { return x.Pooler == r.owner })
		return s.Poolers[i].Cap
	}
	x := s.Roles[slices.IndexFunc(s.Roles, func(x budget.RoleSum) bool { return x.Role == r.owner })]
	if x.InSurge {
		return x.Cap + x.Surge
	}
	return x.Cap
}

// sums is the base and what it would be, and whether one more fits.
func (p *whatIf) sums(t *theme.Theme, w, h int) []string {
	var out []string
	if h >= 10 {
		out = append(out, "")
	}
	for i, s := range []*budget.Sum{p.base, p.sum} {
		name := []string{"base", "what if"}[i]
		role := verdictRole(s.Verdict)
		text := fmt.Sprintf("%5d %7d %6d %6d %6d %6d  ", s.Usable, s.Steady, s.Jobs, s.Surge, s.Peak, s.Left)
		if w < 66 {
			text = fmt.Sprintf("peak %d left %d ", s.Peak, s.Left)
		} else if i == 0 {
			out = append(out, t.Line(w, theme.Span{Role: theme.Head, Text: t.Fit("", 9, false) + " usable  steady   jobs  surge   peak   left  verdict"}))
		}
		out = append(out, t.Line(w, theme.Span{Role: theme.Dim, Text: t.Fit(name, 8, false) + "  "}, theme.Span{Text: text},
			theme.Span{Role: role, Text: theme.Sign(role) + " " + strings.ReplaceAll(string(s.Verdict), "-", " ")}))
	}
	if p.err != "" {
		out = append(out, t.Line(w, theme.Span{Role: theme.Warn, Text: "~ " + p.err}))
	} else if room, ok := p.use.RoomIn(p.sum, p.rows[p.row].owner); ok {
		const before = "room for one more "
		answer := ": " + roomText(room)
		owner := p.rows[p.row].owner
		if n := max(4, w-len(before)-clean.Width(answer)); clean.Width(owner) > n {
			owner = t.Fit(owner, n, false) // the answer is seen before the whole name
		}
		out = append(out, t.Line(w, theme.Span{Text: before + owner + answer}))
	} else if h >= 10 {
		out = append(out, "")
	}
	if now := p.now(); now != "" {
		out = append(out, t.Line(w, theme.Span{Role: theme.Warn, Text: "~ " + now}))
	}
	for _, b := range p.sum.Poolers {
		if b.ClientsOver {
			out = append(out, t.Line(w, theme.Span{Role: theme.Crit, Text: fmt.Sprintf("! %s: %d clients, it lets in %d", b.Pooler, b.Clients, b.MaxClients)}))
		}
	}
	keys := []theme.Span{}
	for _, k := range [][2]string{{"+ -", "change"}, {"←→", "size"}, {"0", "as it was"}, {"d", "deploy"}, {"esc", "close"}} {
		if t.ASCII {
			k[0] = strings.ReplaceAll(k[0], "←→", "left right")
		}
		keys = append(keys, theme.Span{Role: theme.Key, Text: k[0]}, theme.Span{Role: theme.Dim, Text: " " + k[1] + "  "})
	}
	return append(out, t.Line(w, keys...))
}

// now is what the live server has against the sum, "" nothing: the budget's
// verdict knows neither sessions of no role nor who is there already.
func (p *whatIf) now() string {
	u := p.use
	free, outside := u.FreeAfter(p.sum), u.Outside()
	short := free < 0 || u.MaxConnections > 0 && u.Free == 0
	if !short && (outside == 0 || p.sum.Left-outside >= p.sum.KeepFree) {
		return ""
	}
	out := fmt.Sprintf("now %d of %d slots are taken", u.Used, u.Usable)
	if u.Used > u.Usable {
		out = fmt.Sprintf("now %d slots are taken, %d more than the usable %d", u.Used, u.Used-u.Usable, u.Usable)
	}
	if outside > 0 {
		out += fmt.Sprintf(", %d by no role of these", outside)
	}
	if free < 0 {
		return out + fmt.Sprintf("; %d too few", -free)
	}
	return out + fmt.Sprintf("; %d free then", free)
}

func verdictRole(v budget.Verdict) theme.Role {
	switch v {
	case budget.OK:
		return theme.OK
	case budget.Low:
		return theme.Warn
	}
	return theme.Crit
}

// roomText says whether one more replica fits.
func roomText(r budget.Room) string {
	switch {
	case r.Servers && r.Left < 0:
		return fmt.Sprintf("no, %d more than the servers of %s in session mode", -r.Left, r.Via)
	case r.Via != "" && r.Left < 0:
		return fmt.Sprintf("no, %d clients too many for %s", -r.Left, r.Via)
	case r.Via != "" && !r.OK():
		return fmt.Sprintf("not now, it takes %d and %s lets in %d more", r.Takes, r.Via, r.Free)
	case r.Servers:
		return fmt.Sprintf("yes, %d servers of %s left", r.Left, r.Via)
	case r.Via != "":
		return fmt.Sprintf("yes, %d clients of %s left", r.Left, r.Via)
	case r.Left < 0:
		return fmt.Sprintf("no, %d too many", -r.Left)
	case r.Left < r.Keep:
		return fmt.Sprintf("no, %d left and %d are to be kept", r.Left, r.Keep)
	case r.Wall != "":
		return "no, " + r.Wall
	case r.Free < r.Takes:
		return fmt.Sprintf("not now, it takes %d and %d are free", r.Takes, r.Free)
	}
	return fmt.Sprintf("yes, %d left", r.Left)
}
