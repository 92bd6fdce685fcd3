package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/bouncer"
	"github.com/pgsonde/pgsonde/tui/spark"
	"github.com/pgsonde/pgsonde/tui/table"
	"github.com/pgsonde/pgsonde/tui/theme"
	"github.com/pgsonde/pgsonde/tui/tree"
)

// poolersScreen is the pools of every PgBouncer, by process: servers against
// size, who waits and why.
type poolersScreen struct {
	g     theme.Glyphs
	tree  *tree.Model
	f     *frame
	w, h  int
	byKey map[string]poolRef
}

// poolRef is what a row shows: a pool, or a process when pool is nil.
type poolRef struct {
	view     *bouncer.View
	instance int
	pool     *bouncer.PoolView
}

func newPoolers(g theme.Glyphs) *poolersScreen {
	return &poolersScreen{g: g, tree: tree.New(g, []table.Column{
		{ID: "pool", Title: "pool", Min: 14, Max: 30},
		{ID: "wait", Title: "wait", Right: true, Min: 4, Max: 6},
		{ID: "oldest", Title: "oldest", Right: true, Min: 6, Max: 8, Prio: 2},
		{ID: "servers", Title: "servers", Right: true, Min: 7, Max: 11},
		{ID: "full", Title: "full", Min: barWidth, Max: barWidth, Prio: 5},
		{ID: "idle", Title: "idle", Right: true, Min: 4, Max: 6, Prio: 7},
		{ID: "clients", Title: "clients", Right: true, Min: 7, Max: 11, Prio: 4},
		{ID: "mode", Title: "mode", Min: 5, Max: 11, Prio: 8},
		{ID: "why", Title: "why", Min: 14, Grow: true, Prio: 3},
	})}
}

func (s *poolersScreen) name() string       { return "Poolers" }
func (s *poolersScreen) list() *table.Model { return s.tree.Model }
func (s *poolersScreen) Fold()              { s.tree.Fold() }
func (s *poolersScreen) Unfold()            { s.tree.Unfold() }
func (s *poolersScreen) size(w, h int)      { s.w, s.h = w, h; s.arrange() }

func (s *poolersScreen) keys() []action {
	acts := []action{actEnter}
	if s.f != nil && len(s.f.poolFound) > 0 {
		acts = append(acts, actFindings)
	}
	if s.f != nil && s.f.file != nil {
		acts = append(acts, actWhatIf)
	}
	return append(acts, actFilter, actWide, actCopy)
}

// poolRows is how many backends are told apart, at most.
const poolRows = 2000

func (s *poolersScreen) want(w *probes.Want) { wantPoolers(w) }

func wantPoolers(w *probes.Want) {
	w.Sessions = true
	w.Limit = max(w.Limit, poolRows)
	w.QueryBytes = max(w.QueryBytes, lineBytes)
}

func (s *poolersScreen) load(f *frame) {
	s.f = f
	s.byKey = map[string]poolRef{}
	var nodes []tree.Node
	for _, v := range f.poolers() {
		for i := range v.Instances {
			n := tree.Node{Row: s.instanceRow(v, i)}
			s.byKey[n.Row.Key] = poolRef{v, i, nil}
			for k := range v.Pools {
				p := &v.Pools[k]
				if p.Instance != i {
					continue
				}
				kid := tree.Node{Row: s.poolRow(v, p)}
				s.byKey[kid.Row.Key] = poolRef{v, i, p}
				n.Kids = append(n.Kids, kid)
			}
			nodes = append(nodes, n)
		}
	}
	slices.SortStableFunc(nodes, func(a, b tree.Node) int { return cmp.Compare(poolNode(b).worst(), poolNode(a).worst()) })
	_, before := s.tree.Count()
	s.tree.SetNodes(nodes)
	if before == 0 && len(nodes) > 0 && len(nodes[0].Kids) > 0 {
		s.tree.Move(1) // the pool that waits longest, not the process
	}
	s.arrange()
}

// arrange gives the tree what the findings above and the lines below leave.
func (s *poolersScreen) arrange() {
	w, _ := beside(s.w, s.tree.Wide())
	s.tree.SetSize(w, max(2, s.h-s.above()-s.below()))
}

// above is the lines over the tree: findings, the poolers' sums, a blank.
func (s *poolersScreen) above() int {
	n := s.findingLines() + s.sumLines()
	if s.h >= 12 {
		n++
	}
	return n
}

// sumLines is a line for each pooler where there is room.
func (s *poolersScreen) sumLines() int {
	if s.f == nil || s.h < 12 {
		return 0
	}
	return min(len(s.f.poolers()), s.h/8)
}

// below is the lines about the selected row, where there is no pane beside.
func (s *poolersScreen) below() int {
	if _, pane := beside(s.w, s.tree.Wide()); pane > 0 {
		return 0
	}
	switch {
	case s.h < 12:
		return 1
	case s.h < 18:
		return 3
	}
	return min(9, s.h*2/5)
}

func instanceKey(v *bouncer.View, i int) string { return v.Name + " " + v.Instances[i].Target }

func poolKey(v *bouncer.View, p *bouncer.PoolView) string {
	return instanceKey(v, p.Instance) + " " + p.Database + "@" + p.User
}

// instanceRow heads the pools of a process: its clients against max_client_conn.
func (s *poolersScreen) instanceRow(v *bouncer.View, i int) table.Row {
	in := v.Instances[i]
	waiting, servers, idle, oldest := 0, 0, 0, -1.0
	for k := range v.Pools {
		if p := &v.Pools[k]; p.Instance == i {
			waiting, servers, idle = waiting+p.ClientsWaiting, servers+p.Servers(), idle+p.Idle+p.Used+p.Tested
			if p.ClientsWaiting > 0 {
				oldest = max(oldest, p.MaxWaitS)
			}
		}
	}
	why := table.Cell{Text: instanceState(in), Role: theme.Dim}
	sign := instanceSign(in)
	if sign != theme.Normal {
		why.Role = sign
	}
	clients := table.Cell{Text: "?", Role: theme.Dim}
	var bar table.Cell
	if in.ClientsUsed != nil {
		clients = table.Cell{Text: strconv.Itoa(*in.ClientsUsed)}
		if in.ClientsMax != nil {
			clients.Text += "/" + strconv.Itoa(*in.ClientsMax)
			bar.Text, bar.Rest = spark.Bar(s.g, float64(*in.ClientsUsed), float64(*in.ClientsMax), barWidth)
			bar.Role = clientsSign(in)
		}
	}
	known := func(n int) table.Cell {
		if in.At.IsZero() {
			return table.Cell{Text: "?", Role: theme.Dim}
		}
		return number(n)
	}
	return table.Row{Key: instanceKey(v, i), Sign: sign, Head: true, Find: in.Target, Cells: []table.Cell{
		{Text: v.InstanceName(i)}, known(waiting), ageCell(oldest), known(servers), bar, known(idle), clients, {}, why,
	}}
}

// worst is how bad the row of a process or one of its pools is.
func (n poolNode) worst() int {
	out := 0
	for _, r := range append([]tree.Node{{Row: n.Row}}, n.Kids...) {
		switch r.Row.Sign {
		case theme.Crit:
			return 2
		case theme.Warn:
			out = 1
		}
	}
	return out
}

type poolNode tree.Node

func clientsSign(in bouncer.InstanceView) theme.Role {
	switch {
	case in.ClientsUsed == nil || in.ClientsMax == nil || *in.ClientsMax <= 0:
	case *in.ClientsUsed >= *in.ClientsMax:
		return theme.Crit
	case *in.ClientsUsed*10 >= *in.ClientsMax*9:
		return theme.Warn
	}
	return theme.Normal
}

func instanceSign(in bouncer.InstanceView) theme.Role {
	if in.Err != "" || isTrue(in.Paused) || isTrue(in.Suspended) {
		return theme.Warn
	}
	return clientsSign(in)
}

func isTrue(b *bool) bool { return b != nil && *b }

// instanceState is the process in words.
func instanceState(in bouncer.InstanceView) string {
	switch {
	case in.Err != "" && in.At.IsZero():
		return "not read: " + in.Err
	case in.Err != "":
		return "old data (" + age(in.OldS) + "): " + in.Err
	case isTrue(in.Suspended):
		return "SUSPENDED"
	case isTrue(in.Paused):
		return "PAUSED"
	}
	return in.Version + " at " + in.Target
}

func (s *poolersScreen) poolRow(v *bouncer.View, p *bouncer.PoolView) table.Row {
	sign := poolSign(p)
	oldest := -1.0
	if p.ClientsWaiting > 0 {
		oldest = p.MaxWaitS
	}
	wait := number(p.ClientsWaiting)
	if p.ClientsWaiting > 0 {
		wait.Role = sign
	}
	size := s.g.None
	if p.Size > 0 {
		size = strconv.Itoa(p.Size)
		if p.Reserve > 0 {
			size += "+" + strconv.Itoa(p.Reserve)
		}
	}
	servers := table.Cell{Text: strconv.Itoa(p.Servers()) + "/" + size, Num: float64(p.Servers())}
	var bar table.Cell
	if p.Size > 0 {
		bar.Text, bar.Rest = spark.Stack(s.g, float64(p.Active), float64(p.Servers()-p.Active), float64(p.Size), barWidth)
		if p.Cause == bouncer.Full {
			bar.Role = sign
		}
	}
	why := table.Cell{Text: poolCause(p), Role: sign}
	if p.OldS > 0 {
		why.Role = theme.Dim
	}
	return table.Row{Key: poolKey(v, p), Sign: sign, Cells: []table.Cell{
		{Text: p.Database + "@" + p.User},
		wait, ageCell(oldest), servers, bar, number(p.Idle + p.Used + p.Tested),
		number(p.Clients()),
		{Text: p.Mode, Role: theme.Dim},
		why,
	}}
}

// poolSign: clients that wait longer than a moment are critical.
func poolSign(p *bouncer.PoolView) theme.Role {
	switch {
	case p.OldS > 0:
		return theme.Normal
	case p.Disabled, p.ClientsWaiting > 0 && p.MaxWaitS >= 1 && p.Cause != bouncer.Opening:
		return theme.Crit
	case p.Paused, p.Refused != "", p.ClientsWaiting > 0:
		return theme.Warn
	}
	return theme.Normal
}

func (s *poolersScreen) act(a action) (result, bool) {
	if a == actFindings && s.f != nil {
		return allFindings(s.g, s.f), true
	}
	r, ok := s.tree.Selected()
	if !ok {
		return result{}, false
	}
	ref, ok := s.byKey[r.Key]
	if !ok {
		return result{}, false
	}
	switch a {
	case actEnter:
		if ref.pool == nil {
			return result{}, s.tree.Toggle()
		}
		return result{push: newPool(s.g, poolKey(ref.view, ref.pool), ref.pool.Database+"@"+ref.pool.User)}, true
	case actCopy:
		text := ref.view.Instances[ref.instance].Target
		if ref.pool != nil {
			text = ref.pool.Database + "@" + ref.pool.User
		}
		return result{copy: text, what: text}, true
	case actWhatIf:
		return openWhatIf(s.f, ref.view.Name), true
	}
	return result{}, false
}

func (s *poolersScreen) draw(t *theme.Theme) []string {
	if s.f == nil {
		return make([]string, s.h)
	}
	out := s.head(t)
	w, pane := beside(s.w, s.tree.Wide())
	body := s.tree.Draw(t)
	if _, all := s.tree.Count(); all == 0 && len(body) > 1 {
		body[1] = t.Line(s.w, theme.Span{Role: theme.Dim, Text: "  " + s.nothing()})
	}
	var about []string
	if r, ok := s.tree.Selected(); ok {
		if ref, ok := s.byKey[r.Key]; ok && pane > 0 {
			about = poolFacts(t, s.f, ref, pane, len(body))
		} else if ok {
			about = poolFacts(t, s.f, ref, s.w-3, s.below())
		}
	}
	if pane > 0 {
		return append(out, sideBySide(t, body, about, w)...)
	}
	out = append(out, body...)
	for i := range s.below() {
		line := ""
		if i < len(about) && about[i] != "" {
			line = "   " + about[i]
		}
		out = append(out, line)
	}
	return out[:min(len(out), s.h)]
}

func (s *poolersScreen) nothing() string {
	switch {
	case s.f.pool == nil && s.f.live:
		return "reading the consoles"
	case s.f.pool == nil:
		return "the consoles were not read with this reading"
	}
	return "no client has connected yet"
}

// poolerSum is a pooler in one line: its clients and its server side.
func poolerSum(v *bouncer.View) string {
	clients := fmt.Sprintf("%s of %s clients", orAsk(v.ClientsUsed), orAsk(v.ClientsMax))
	if v.ClientsUsed != nil && v.ClientsMax != nil {
		clients = probes.OutOf(*v.ClientsUsed, *v.ClientsMax, "clients", "limit")
	}
	parts := []string{clients}
	side := "? server connections"
	if v.Read > 0 {
		side = fmt.Sprintf("%s, %d idle", plural(v.Servers.Now, "server connection"), v.Servers.Idle)
	}
	if v.Servers.Cap != nil {
		side += fmt.Sprintf(", %d at most", *v.Servers.Cap)
	}
	if v.Servers.Usable != nil {
		side += fmt.Sprintf("; the server has %d", *v.Servers.Usable)
	}
	out := strings.Join(append(parts, side), ", ")
	if part := v.Part(); part != "" {
		out = part + ": " + out
	}
	return out
}

func orAsk(n *int) string {
	if n == nil {
		return "?"
	}
	return strconv.Itoa(*n)
}
