package tui

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/waits"
)

// LockLister is a Source that can read all locks of one session, for when
// somebody opens it. Without it only the locks that others wait for are shown.
type LockLister interface {
	LocksOf(ctx context.Context, pids ...int) (*probes.Locks, error)
}

// locksMsg is all locks of one session.
type locksMsg struct {
	pid   int
	start time.Time
	locks *probes.Locks
	err   error
}

// locksOf reads all locks of one session and its parallel workers.
func (l *link) locksOf(x *probes.Session, workers []int) tea.Cmd {
	pid, start, pids := x.PID, x.BackendStart, append([]int{x.PID}, workers...)
	return func() tea.Msg {
		src := l.take()
		if src == nil {
			return nil
		}
		defer l.busy.Done()
		all, ok := src.(LockLister)
		if !ok {
			return nil
		}
		locks, err := all.LocksOf(l.ctx, pids...)
		return locksMsg{pid, start, locks, err}
	}
}

// heldLocks are one session's locks as last read; they are read again when it
// begins another statement or transaction, not with every tick.
type heldLocks struct {
	of   string // the state of the session that was asked in
	rows []fact
	err  string
}

// stale says that the session has moved on since its locks were asked for.
func (h *heldLocks) stale(x *probes.Session) bool {
	now := strings.Join([]string{x.State, x.WaitEvent, x.XactStart.String(), x.QueryStart.String()}, " ")
	if now == h.of {
		return false
	}
	h.of = now
	return true
}

func (h *heldLocks) take(l *probes.Locks, err error) {
	if err != nil {
		h.rows, h.err = nil, "the locks could not be read: "+err.Error()
		return
	}
	h.rows, h.err = lockList(l), ""
}

// lockList puts lock entries in words, one line for each object: what is waited
// for first, then the strongest. Every transaction's lock on itself is left out.
func lockList(l *probes.Locks) []fact {
	words := waits.Objects(l)
	type entry struct {
		tag     probes.LockTag
		granted bool
		modes   []probes.LockMode
	}
	var all []*entry
	byTag := map[probes.LockTag]*entry{}
	for _, r := range l.Rows {
		if r.Granted && (r.Tag.Type == "virtualxid" || r.Tag.Type == "transactionid") || r.Mode == probes.NoLock {
			continue
		}
		e := byTag[r.Tag]
		if e == nil || !r.Granted {
			e = &entry{tag: r.Tag, granted: r.Granted}
			all = append(all, e)
			if r.Granted {
				byTag[r.Tag] = e
			}
		}
		e.modes = append(e.modes, r.Mode)
	}
	strongest := func(e *entry) probes.LockMode { return slices.Max(e.modes) }
	slices.SortStableFunc(all, func(a, b *entry) int {
		if a.granted != b.granted {
			if b.granted {
				return -1
			}
			return 1
		}
		return -cmp.Compare(strongest(a), strongest(b))
	})
	var out []fact
	for _, e := range all {
		label, text := "holds", lockText(e.tag.Type, strongest(e), words(e.tag))
		if n := len(e.modes); n > 1 {
			var weaker []string
			for _, m := range slices.Sorted(slices.Values(e.modes)) {
				if m != strongest(e) {
					weaker = append(weaker, strings.TrimSuffix(m.String(), "Lock"))
				}
			}
			text += ", and " + strings.Join(slices.Compact(weaker), ", ")
		}
		if !e.granted {
			label = "waits for" // without an age, which would stand still
		}
		out = append(out, fact{label, text})
	}
	return out
}

// sessionFacts is everything about one backend except its statement, with who
// stands before and behind it.
func sessionFacts(f *frame, s *probes.Session) []fact {
	all := baseFacts(f, s)
	n := nodeOf(f.forest(), s)
	if n == nil {
		return all
	}
	more := lockFacts(f.forest(), n)
	if n.Edge != nil {
		all = slices.DeleteFunc(all, func(x fact) bool { return x.label == "waits for" })
	}
	at := min(2, len(all)) // after role and state
	return slices.Insert(all, at, more...)
}
