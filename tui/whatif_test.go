package tui

import (
	"slices"
	"strconv"
	"testing"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/budget"
)

func TestGoldenWhatIf(t *testing.T) {
	incident := recorded(t, "incident")
	tests := []struct {
		name string
		w, h int
		opt  Options
		keys []string
	}{
		{"whatif-40x10", 40, 10, Options{}, []string{"p", "+"}},
		{"whatif-80x24", 80, 24, Options{}, []string{"p", "+", "+", "l", "+", "j", "d"}},
		{"whatif-120x40", 120, 40, Options{}, []string{"p", "+"}},
		{"whatif-ascii-80x24", 80, 24, Options{ASCII: true}, []string{"p", "+"}},
		{"whatif-over-80x24", 80, 24, Options{}, []string{"p", "l", "+", "+", "+", "+", "+", "+", "+", "+", "+", "+"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := draw(t, tt.w, tt.h, tt.opt, incident)
			d.press(tt.keys...)
			golden(t, tt.name, d.text())
		})
	}
}

// TestWhatIfAddsUp: the panel says what the scenario of the command line says,
// gives it back when asked, and leaves the pace and the file alone.
func TestWhatIfAddsUp(t *testing.T) {
	incident := recorded(t, "incident")
	d := draw(t, 80, 24, Options{}, incident)
	base := *incident[0]
	d.press("p", "+", "l", "+", "+", "-")
	p, ok := d.over.(*whatIf)
	if !ok {
		t.Fatal("p opens no panel")
	}
	want := planOf(t, d.opt.Budget, base.Limits.MaxConnections, base.Limits.Reserved, "api+1", "api.pool=7")
	if p.sum.Steady != want.Steady || p.sum.Peak != want.Peak || p.sum.Left != want.Left || p.sum.Verdict != want.Verdict {
		t.Errorf("got %d %d %d %s, want %d %d %d %s", p.sum.Steady, p.sum.Peak, p.sum.Left, p.sum.Verdict, want.Steady, want.Peak, want.Left, want.Verdict)
	}
	d.press("0")
	if p.sum.Peak != p.base.Peak {
		t.Errorf("as it was: peak %d, want %d", p.sum.Peak, p.base.Peak)
	}
	d.press("d")
	if p.sum.Surge != 7 {
		t.Errorf("a deploy of api: surge %d, want 7", p.sum.Surge)
	}
	d.press("h", "-", "-", "-", "-")
	if got := p.rows[0].sizes[0].Value; got != 0 {
		t.Errorf("replicas %d, want never below 0", got)
	}
	pace := d.read.base
	d.press("esc")
	if d.over != nil || d.read.base != pace {
		t.Error("esc does not close, or + changed the pace")
	}
	if d.opt.Budget.Role("api").Replicas != 2 {
		t.Error("the budget was changed")
	}
}

// TestWhatIfSaysWhatTheRowSays: with nothing changed the panel says of one more
// what the row behind it says, also of a server that others fill; it follows the
// readings while it is open.
func TestWhatIfSaysWhatTheRowSays(t *testing.T) {
	incident := recorded(t, "incident")
	d := draw(t, 120, 40, Options{}, incident)
	d.press("p")
	p := d.over.(*whatIf)
	said := func() (row, panel budget.Room) {
		row, ok := d.frame.use.RoomFor("api")
		panel, also := p.use.RoomIn(p.sum, "api")
		if !ok || !also {
			t.Fatal("nothing is said of api")
		}
		return row, panel
	}
	row, panel := said()
	if row != panel || row.Free < row.Takes {
		t.Errorf("got %+v in the panel, want %+v as in the row, with free slots", panel, row)
	}
	full := *incident[len(incident)-1]
	full.Seq++
	full.Groups = append(slices.Clone(full.Groups), probes.Group{Kind: probes.KindClient, App: "other", User: "u", Database: "d", Addr: "10.9.9.9", State: "idle", N: row.Free - 1})
	d.answer(&full)
	row, panel = said()
	if row != panel || row.Free != 1 || row.OK() {
		t.Errorf("got %+v in the panel, want %+v as in the row, with one free", panel, row)
	}
	d.has("room for one more api: " + roomText(row))
	d.has("by no role of these; 1 free then")
	d.press("+")
	if _, panel = said(); panel.Free != 0 || panel.OK() {
		t.Errorf("with a replica more: got %+v, want none free", panel)
	}
}

// TestWhatIfShowsTheSizeUnderTheCursor: also the last of a row that is too long for
// the panel.
func TestWhatIfShowsTheSizeUnderTheCursor(t *testing.T) {
	f, err := budget.Parse("b.yaml", []byte("poolers: { pgb: { pools: { \"a_database_of_a_long_name@and_a_user\": {}, \"another_database@another_user\": {} } } }\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []int{40, 80, 120} {
		d := draw(t, w, 24, Options{Budget: f}, recorded(t, "incident"))
		d.press("p", "l", "l", "l", "+")
		d.has("[max_client_conn")
		d.press("h", "h", "+")
		d.has("[a_database")
	}
}

func planOf(t *testing.T, f *budget.File, maxConnections, reserved int, items ...string) *budget.Sum {
	t.Helper()
	sc, err := budget.ParseScenario(f, append(items, "server.max_connections="+strconv.Itoa(maxConnections), "server.reserved="+strconv.Itoa(reserved)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := budget.Plan(f, sc)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWhatIfWithoutABudget(t *testing.T) {
	d := draw(t, 80, 24, Options{Budget: &budget.File{}}, recorded(t, "incident"))
	d.press("p")
	if d.over != nil {
		t.Error("a panel about nothing")
	}
	d.has("nothing to change")
}

// TestWhatIfAnswersOfALongName: the answer is seen, whatever the role is called.
func TestWhatIfAnswersOfALongName(t *testing.T) {
	f, err := budget.Parse("b.yaml", []byte("roles: { a_role_whose_name_is_as_long_as_names_of_roles_may_be_in_it: { pool: 1 } }\n"))
	if err != nil {
		t.Fatal(err)
	}
	d := draw(t, 80, 24, Options{Budget: f}, recorded(t, "incident"))
	d.press("p")
	room, _ := d.frame.use.RoomFor("a_role_whose_name_is_as_long_as_names_of_roles_may_be_in_it")
	d.has(": " + roomText(room) + " ")
}
