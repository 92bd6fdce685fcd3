package tui

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"charm.land/bubbles/v2/viewport"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/tui/clean"
	"github.com/pgsonde/pgsonde/tui/table"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// sessionScreen is one backend with its whole statement.
type sessionScreen struct {
	x     probes.Session
	gone  bool
	f     *frame
	seen  *frame    // the reading in which it was there last
	full  string    // the whole statement, "" until it is there
	asked time.Time // QueryStart of the statement that was asked for
	trail string    // why the statement is not whole
	view  viewport.Model
	lines []string // the statement wrapped to the width, after top empty ones
	top   int
	w, h  int

	wrapped string // what lines were made of
	wrapW   int
	locks   heldLocks
}

func newSession(x probes.Session) *sessionScreen {
	return &sessionScreen{x: x, view: viewport.New()}
}

func (s *sessionScreen) name() string       { return "pid " + strconv.Itoa(s.x.PID) }
func (s *sessionScreen) list() *table.Model { return nil }
func (s *sessionScreen) keys() []action {
	out := []action{actBack, actCancel, actTerminate, actExplain, actCopyQuery, actCopy}
	if s.gone {
		out = []action{actBack, actExplain, actCopyQuery, actCopy}
	}
	if len(s.lines) > s.h {
		out = append(out, actDown)
	}
	return out
}

func (s *sessionScreen) want(w *probes.Want) {
	w.Sessions, w.AllKinds = true, true
	w.QueryBytes = max(w.QueryBytes, lineBytes)
}

func (s *sessionScreen) size(w, h int) {
	if s.w == w && s.h == h {
		return
	}
	s.w, s.h = w, h
	s.fill()
}

func (s *sessionScreen) load(f *frame) {
	s.f = f
	if s.seen == nil {
		s.seen = f
	}
	if f.snap.Sessions != nil {
		s.gone = true
		for _, x := range f.snap.Sessions {
			if x.PID == s.x.PID && x.BackendStart.Equal(s.x.BackendStart) {
				if !x.QueryStart.Equal(s.x.QueryStart) {
					s.full, s.trail = "", ""
				}
				s.x, s.gone, s.seen = x, false, f
				break
			}
		}
	}
	s.fill()
}

func (s *sessionScreen) needQuery() (int, time.Time, bool) {
	if s.gone || !s.x.QueryClipped || s.x.QueryStart.Equal(s.asked) {
		return 0, time.Time{}, false
	}
	s.asked = s.x.QueryStart
	return s.x.PID, s.x.BackendStart, true
}

func (s *sessionScreen) gotQuery(pid int, start time.Time, text string, err error) {
	if pid != s.x.PID || !start.Equal(s.x.BackendStart) {
		return
	}
	if err != nil {
		s.trail = "the rest could not be read: " + err.Error()
	} else {
		s.full = text
	}
	s.fill()
}

func (s *sessionScreen) text() string {
	if s.full != "" {
		return s.full
	}
	return s.x.Query
}

// facts are those of the last reading that has the session.
func (s *sessionScreen) facts() []fact {
	all := sessionFacts(s.seen, &s.x)
	for i := range all {
		if s.gone && all[i].label == "state" {
			all[i].value = "ended; was " + all[i].value
		}
	}
	return all
}

// above is how many lines stand before the statement.
func (s *sessionScreen) above() int {
	n := factRows(s.facts(), s.w-4) + 2
	if l := len(s.held()); l > 0 {
		n += l + 1
	}
	if s.locks.err != "" {
		n += 2
	}
	return n
}

// held are the session's locks; what it waits for is among its facts already, where
// the forest has it, with an age that goes on.
func (s *sessionScreen) held() []fact {
	n := nodeOf(s.seen.forest(), &s.x)
	if n == nil || n.Edge == nil {
		return s.locks.rows
	}
	return slices.DeleteFunc(slices.Clone(s.locks.rows), func(x fact) bool { return x.label == "waits for" })
}

// needLocks says that the session's locks are to be read (again), and those of
// its parallel workers.
func (s *sessionScreen) needLocks() (x *probes.Session, workers []int, ok bool) {
	if s.f == nil || s.gone || !s.locks.stale(&s.x) {
		return nil, nil, false
	}
	for _, w := range s.f.snap.Sessions {
		if w.LeaderPID == s.x.PID && w.Kind == "parallel worker" {
			workers = append(workers, w.PID)
		}
	}
	return &s.x, workers, true
}

func (s *sessionScreen) gotLocks(msg locksMsg) {
	if msg.pid == s.x.PID && msg.start.Equal(s.x.BackendStart) {
		s.locks.take(msg.locks, msg.err)
		s.fill()
	}
}

// fill wraps the statement for the width; it keeps the scroll place. The facts
// scroll with it.
func (s *sessionScreen) fill() {
	if s.f == nil {
		return
	}
	s.view.SetWidth(s.w)
	s.view.SetHeight(s.h)
	top := s.above()
	if text := s.text(); text != s.wrapped || s.w != s.wrapW || top != s.top {
		s.wrapped, s.wrapW, s.top = text, s.w, top
		s.lines = make([]string, top)
		for _, l := range clean.Block(text) {
			if s.f.ascii {
				l = clean.ASCII(l)
			}
			s.lines = append(s.lines, wrapText(l, max(1, s.w-4))...)
		}
		s.view.SetContentLines(s.lines)
	}
}

func (s *sessionScreen) draw(t *theme.Theme) []string {
	if s.f == nil {
		return make([]string, s.h)
	}
	facts := drawFacts(t, s.facts(), s.w-4)
	if s.locks.err != "" {
		facts = append(facts, "", t.Line(s.w-4, theme.Span{Role: theme.Warn, Text: "~ " + s.locks.err}))
	}
	if held := s.held(); len(held) > 0 {
		facts = append(facts, "")
		for _, x := range held {
			facts = append(facts, t.Line(s.w-4, theme.Span{Role: theme.Dim, Text: t.Fit(x.label, 12, false)}, theme.Span{Text: x.value}))
		}
	}
	out := make([]string, s.h)
	for i := range out {
		n := s.view.YOffset() + i
		switch {
		case n < len(facts):
			out[i] = "  " + facts[n]
		case n == s.top-1:
			out[i] = s.heading(t)
		case n >= s.top && n < len(s.lines):
			out[i] = "  " + t.Line(s.w-2, theme.Span{Text: s.lines[n]})
		}
	}
	return out
}

// heading says what the text below is, and how much of it is on screen.
func (s *sessionScreen) heading(t *theme.Theme) string {
	what, note := "statement", ""
	switch {
	case s.gone:
		what, note = "ended; its last statement", "as of "+clock(s.seen.snap.At)
	case s.trail != "":
		note = s.trail
	case s.x.QueryClipped && s.full == "":
		note = "reading the rest"
	case s.x.State != "active" && s.x.Query != "":
		what = "last statement"
	}
	if n := bytesOf(s.f.snap.Limits.Settings["track_activity_query_size"]); n > 0 && len(s.text()) >= n-4 {
		note = fmt.Sprintf("the server keeps %d bytes of it", n-1)
	}
	role := theme.Strong
	if s.gone {
		role = theme.Warn
	}
	var right []theme.Span
	if n, h := len(s.lines), s.view.Height(); n > h {
		right = dim(fmt.Sprintf("%d lines  ", n-s.top))
	}
	return t.Split(s.w, []theme.Span{{Text: "  "}, {Role: role, Text: what}, {Role: theme.Dim, Text: "  " + note}}, right)
}

func (s *sessionScreen) act(a action) (result, bool) {
	switch a {
	case actUp:
		s.view.ScrollUp(1)
	case actDown:
		s.view.ScrollDown(1)
	case actPageUp:
		s.view.HalfPageUp()
	case actPageDown:
		s.view.HalfPageDown()
	case actTop:
		s.view.GotoTop()
	case actBottom:
		s.view.GotoBottom()
	case actCopy, actCopyQuery, actCancel, actTerminate, actExplain:
		if res, ok := ended(a, &s.x); s.gone && ok {
			return res, true
		}
		if a == actCopyQuery && (s.full != "" || !s.x.QueryClipped || s.gone) {
			return result{copy: s.text(), what: "the statement: " + clean.SQL(s.text(), 60)}, true
		}
		return sessionAct(a, &s.x)
	default:
		return result{}, false
	}
	return result{}, true
}
