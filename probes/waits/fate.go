package waits

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

// Fate is what has become of a session that waited for one that was ended.
type Fate string

// Fates. All but Waits and Unseen are for good.
const (
	Waits  Fate = "waits"  // for the ended session as before, or for another since
	Unseen Fate = "unseen" // it did not wait when it was seen last, which may have been between two locks
	Freed  Fate = "freed"  // it went on, and has waited for none since but those that were freed before it
	Later  Fate = "later"  // it went on after it had waited for another
	Over   Fate = "over"   // after it had waited for another its statement ended, nobody knows how
	Failed Fate = "failed" // its transaction is aborted
	Left   Fate = "gone"   // the session is no more
	Before Fate = "before" // it left its wait while the other was still there as before
)

// Aftermath follows, reading by reading, those who waited for a session that was
// ended: who runs because of that, and who for another reason or not at all.
type Aftermath struct {
	target  Key
	was     *probes.Session // target before its end, nil unknown
	waiters []*survivor
	by      map[Key]*survivor
}

// survivor is one of those who waited.
type survivor struct {
	key          Key
	known        bool // whether activity showed it; else began and backendStart are unset
	began        time.Time
	backendStart time.Time
	fate         Fate
	over         bool          // its statement is
	early        bool          // it was first seen clear in a reading that began with the target as it was
	clear        time.Duration // since when it waits no longer, after the end
	behind       []Key         // whom it has waited for since, but for the target, in that order
	now          Key           // whom it waits for
}

// Follow begins with the last reading before the end of target.
func Follow(f *Forest, target Key, waiters []Key) *Aftermath {
	a := &Aftermath{target: target, was: f.sessionOf(target), by: map[Key]*survivor{}}
	for _, k := range waiters {
		if a.by[k] != nil {
			continue
		}
		w := &survivor{key: k, fate: Waits, now: target}
		if s := f.sessionOf(k); s != nil {
			w.known, w.began, w.backendStart = true, s.QueryStart, s.BackendStart
		}
		a.waiters, a.by[k] = append(a.waiters, w), w
	}
	return a
}

// Look is a reading after the end. Of those that take part in one, sessions are read
// before locks.
type Look struct {
	Sessions []probes.Session // nil: they were not read
	All      bool             // whoever is not among them is gone
	Own      []int            // backends that serve us: a pooler hands out whose transaction is over
	After    time.Duration    // since the end
}

// of is what activity shows of a process, nil nothing.
func (l *Look) of(pid int) *probes.Session {
	for i := range l.Sessions {
		if l.Sessions[i].PID == pid {
			return &l.Sessions[i]
		}
	}
	return nil
}

// See takes the next reading.
func (a *Aftermath) See(f *Forest, l Look) {
	held := a.holds(&l)
	var free []*survivor
	for _, w := range a.waiters {
		if w.fate != Waits && w.fate != Unseen || slices.Contains(f.Torn, w.key.PID) {
			continue
		}
		s, own := l.of(w.key.PID), slices.Contains(l.Own, w.key.PID)
		switch {
		case s == nil && !own && l.All && l.Sessions != nil, s != nil && w.known && !s.BackendStart.Equal(w.backendStart):
			w.fate = Left
		case s != nil && s.State == "idle in transaction (aborted)":
			w.fate = Failed
		case !a.see(w, f, s, own, held, l.After):
			w.early = w.fate == Unseen && held
		case held && w.early: // in a later reading than the one that showed w clear
			w.fate = Before
		case held:
			w.fate, w.early = Unseen, true
		default:
			free = append(free, w)
		}
	}
	for again := true; again; { // who was freed frees the next
		again = false
		for _, w := range free {
			if w.fate != Freed && a.freed(w) {
				w.fate, again = Freed, true
			}
		}
	}
	for _, w := range free {
		switch {
		case w.fate == Freed:
		case w.over:
			w.fate = Over
		default:
			w.fate = Later
		}
	}
}

// holds says that the target is seen as it was, with all of its locks: the end of its
// transaction takes the xid and the start from activity, that of a part of it ends
// the statement.
func (a *Aftermath) holds(l *Look) bool {
	was, now := a.was, l.of(a.target.PID)
	return was != nil && now != nil && !was.BackendStart.IsZero() && now.BackendStart.Equal(was.BackendStart) &&
		now.XactStart.Equal(was.XactStart) && (was.XID == "" || now.XID == was.XID) &&
		now.QueryStart.Equal(was.QueryStart) && now.State == was.State
}

// see says whether a session is over its wait: its statement has ended, or goes on
// in two readings. In one alone it may be on its way from one lock to the next, as
// those behind a row are, all of which wake when its locker ends.
func (a *Aftermath) see(w *survivor, f *Forest, s *probes.Session, own, held bool, after time.Duration) bool {
	if by, waits := f.waitsFor(w.key); waits {
		if s == nil {
			s = f.sessionOf(w.key)
		}
		anew := w.known && s != nil && !s.QueryStart.Equal(w.began)
		if w.over = anew && !slices.Contains(by, a.target); w.over {
			w.clear = after
			return true
		}
		if anew { // it gave up and asks once more
			w.began = s.QueryStart
		}
		if w.fate = Waits; held || anew || slices.Contains(by, a.target) {
			w.behind = nil // whoever was before it there is no matter once the target has ended
		}
		for _, b := range by {
			if b != a.target && !slices.Contains(w.behind, b) {
				w.behind = append(w.behind, b)
			}
		}
		if len(by) > 0 {
			w.now = by[0]
		}
		return false
	}
	first := w.fate != Unseen
	if w.fate = Unseen; first {
		w.clear = after
	}
	w.over = own || s != nil && (w.known && !s.QueryStart.Equal(w.began) || strings.HasPrefix(s.State, "idle"))
	return w.over || !first
}

// freed: since the end w has waited for none but those that were freed themselves.
func (a *Aftermath) freed(w *survivor) bool {
	return !slices.ContainsFunc(w.behind, func(k Key) bool { return a.by[k] == nil || a.by[k].fate != Freed })
}

// sessionOf is what is known of who waits, nil nothing.
func (f *Forest) sessionOf(k Key) *probes.Session {
	if n := f.Node(k); n != nil {
		return n.Session
	}
	for i := range f.SafeSnapshots {
		if n := f.SafeSnapshots[i].Waiter; n.Key == k {
			return n.Session
		}
	}
	return nil
}

// waitsFor are those a session waits for, the one it is drawn under first.
func (f *Forest) waitsFor(k Key) (by []Key, waits bool) {
	n := f.Node(k)
	if n != nil && n.Edge != nil {
		by, waits = append(by, n.Edge.Blocker), true
		for _, e := range f.Blockers(k) {
			by = append(by, e.Blocker)
		}
	}
	for i := range f.SafeSnapshots {
		if s := &f.SafeSnapshots[i]; s.Waiter.Key == k {
			waits = true
			for _, b := range s.Blockers {
				by = append(by, b.Key)
			}
		}
	}
	return by, waits || n != nil && slices.Contains(f.Alone, n)
}

// Fate is what has become of one of those who waited.
func (a *Aftermath) Fate(k Key) Fate {
	if w := a.by[k]; w != nil {
		return w.fate
	}
	return Unseen
}

// Freed counts those who run because of the end, and says after how long the last
// of them did; settled: what became of the others is known, too.
func (a *Aftermath) Freed() (n int, last time.Duration, settled bool) {
	settled = true
	for _, w := range a.waiters {
		switch w.fate {
		case Freed:
			n, last = n+1, max(last, w.clear)
		case Waits, Unseen:
			settled = false
		}
	}
	return n, last, settled
}

// Rest says what became of those who were not freed, "" of nobody.
func (a *Aftermath) Rest(f *Forest) string {
	var out []string
	for _, x := range []Fate{Waits, Later, Over, Failed, Left, Before, Unseen} {
		var all []*survivor
		for _, w := range a.waiters {
			if w.fate == x {
				all = append(all, w)
			}
		}
		if len(all) > 0 {
			out = append(out, a.words(f, all))
		}
	}
	return strings.Join(out, "; ")
}

// Words is Rest about one of those who waited, freed or not.
func (a *Aftermath) Words(f *Forest, k Key) string {
	w := a.by[k]
	if w == nil {
		return ""
	}
	return a.words(f, []*survivor{w})
}

// words is about sessions with one fate.
func (a *Aftermath) words(f *Forest, all []*survivor) string {
	w, one := all[0], len(all) == 1
	who := w.key.String()
	pick := func(single, several string) string {
		if one {
			return fmt.Sprintf(single, who)
		}
		return fmt.Sprintf(several, len(all))
	}
	switch w.fate {
	case Freed:
		return pick("%s waits no longer", "%d wait no longer")
	case Later:
		return pick("%s ran later", "%d ran later") + w.blocked(f, one, ", after")
	case Over:
		return pick("the statement of %s ended later", "the statements of %d ended later") + w.blocked(f, one, ", after")
	case Failed:
		return pick("the transaction of %s was aborted", "the transactions of %d were aborted")
	case Left:
		return pick("%s is gone", "%d are gone")
	case Before:
		return pick("%s left its wait", "%d left their wait") + " while " + f.Name(a.target) + " was still there"
	case Unseen:
		return pick("whether %s runs was not seen", "whether %d run was not seen")
	}
	text := pick("%s still waits", "%d still wait")
	switch {
	case w.now == a.target:
		return text
	case one:
		return text + ", now for " + f.Name(w.now)
	}
	return text + ", " + who + " for " + f.Name(w.now)
}

// blocked names whom a session waited for last, and the session where it is one of
// several.
func (w *survivor) blocked(f *Forest, one bool, after string) string {
	if len(w.behind) == 0 {
		return ""
	}
	if !one {
		after = ", " + w.key.String() + strings.TrimPrefix(after, ",")
	}
	return after + " " + f.Name(w.behind[len(w.behind)-1])
}
