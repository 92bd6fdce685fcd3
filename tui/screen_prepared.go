package tui

import (
	"strconv"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/waits"
	"github.com/pgsonde/pgsonde/tui/table"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// preparedScreen is one prepared transaction: it has no backend, and so nothing
// that could be cancelled or terminated, but a statement that ends it.
type preparedScreen struct {
	n    *waits.Node
	f    *frame
	seen *frame // the reading in which somebody waited for it last
	gone bool
	top  int
	w, h int
}

func newPrepared(n *waits.Node) *preparedScreen { return &preparedScreen{n: n} }

func (s *preparedScreen) name() string       { return nodeName(s.n) }
func (s *preparedScreen) list() *table.Model { return nil }
func (s *preparedScreen) want(*probes.Want)  {}
func (s *preparedScreen) size(w, h int)      { s.w, s.h = w, h }

func (s *preparedScreen) keys() []action {
	if s.f == nil || s.last() == 0 {
		return []action{actBack, actCopy}
	}
	return []action{actBack, actCopy, actDown}
}

func (s *preparedScreen) load(f *frame) {
	s.f = f
	n := f.forest().Node(s.n.Key)
	if s.gone = n == nil || nodeKey(n) != nodeKey(s.n); !s.gone {
		s.n, s.seen = n, f
	}
	if s.seen == nil {
		s.seen = f
	}
}

func (s *preparedScreen) act(a action) (result, bool) {
	switch a {
	case actUp:
		s.top = max(0, s.top-1)
	case actDown:
		s.top++
	case actPageUp:
		s.top = max(0, s.top-s.h/2)
	case actPageDown:
		s.top += s.h / 2
	case actTop:
		s.top = 0
	case actCopy:
		return copyRollback(s.n), true
	case actCancel, actTerminate:
		return result{end: &endWish{verb: verbOf(a), node: s.n}}, true
	default:
		return result{}, false
	}
	s.top = min(s.top, s.last())
	return result{}, true
}

// last is the first line on screen when its end is.
func (s *preparedScreen) last() int {
	return max(0, len(s.lines(theme.New(theme.Plain, false), s.w-4))-s.h)
}

// rollbackOf is the statement that ends a prepared transaction, "" for a backend or
// when its name is not known.
func rollbackOf(n *waits.Node) string {
	if !n.Key.Prepared() || n.Prepared == nil {
		return ""
	}
	return waits.RollbackPrepared(n.Prepared.GID)
}

func copyRollback(n *waits.Node) result {
	sql := rollbackOf(n)
	if sql == "" {
		return result{say: "pg_prepared_xacts does not name it any more: there is nothing to copy"}
	}
	return result{copy: sql, what: sql}
}

func (s *preparedScreen) draw(t *theme.Theme) []string {
	if s.f == nil {
		return make([]string, s.h)
	}
	all := s.lines(t, s.w-4)
	top := max(0, min(s.top, len(all)-s.h))
	out := make([]string, s.h)
	for i := range out {
		if n := top + i; n < len(all) && all[n] != "" {
			out[i] = "  " + all[n]
		}
	}
	return out
}

func (s *preparedScreen) lines(t *theme.Theme, w int) []string {
	f, n := s.seen.forest(), s.n
	var out []string
	if s.gone {
		out = append(out, wrap(t, theme.Warn, "~ ", "nobody waits for it any more: it was committed or rolled back, or is in nobody's way; as it was at "+clock(s.seen.snap.At), w)...)
		out = append(out, "")
	}
	all := []fact{}
	if p := n.Prepared; p != nil {
		all = append(all, fact{"gid", p.GID}, fact{"owner", p.Owner}, fact{"database", p.Database}, fact{"prepared", age(s.seen.age(p.Prepared)) + " ago"},
			fact{"xid", strconv.FormatUint(uint64(p.XID), 10)})
	}
	for _, h := range f.Locks(n.Key) {
		if h.Granted {
			all = append(all, fact{"holds", heldText(h)})
		}
	}
	all = append(all, fact{"", "(of its locks only those that somebody waits for are read)"}, fact{"blocks", plural(blocks(n), "session") + "; if it ends: " + outlookOf(f, n).sum()})
	for _, x := range all {
		for i, l := range wrapText(t.Clean(x.value), max(8, w-12)) {
			label := x.label
			if i > 0 {
				label = ""
			}
			out = append(out, t.Line(w, theme.Span{Role: theme.Dim, Text: t.Fit(label, 12, false)}, theme.Span{Text: l}))
		}
	}
	out = append(out, "")
	if sql := rollbackOf(n); sql != "" {
		out = append(out, wrap(t, theme.Dim, "", "To end it, in database "+n.Prepared.Database+", as "+n.Prepared.Owner+" or superuser:", w)...)
		out = append(out, wrap(t, theme.Strong, "", sql+";", w)...)
		out = append(out, wrap(t, theme.Dim, "", "or COMMIT PREPARED, when its transaction manager decided so.", w)...)
	}
	return append(out, wrap(t, theme.Dim, "", "It has no backend: cancel and terminate cannot reach it.", w)...)
}
