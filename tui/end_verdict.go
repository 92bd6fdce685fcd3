package tui

import (
	"fmt"
	"strconv"
	"time"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/waits"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// obeyed says whether the target has obeyed, and if not what it does.
func (e *ending) obeyed(f *waits.Forest, s *probes.Snapshot) (bool, string) {
	old := e.target.node.Session
	var now *probes.Session
	if n := f.Node(e.target.node.Key); n != nil {
		now = n.Session
	}
	for i := range s.Sessions {
		if s.Sessions[i].PID == old.PID {
			now = &s.Sessions[i]
		}
	}
	switch {
	case now == nil:
		return s.Sessions != nil, "" // else they were not read
	case !now.BackendStart.Equal(old.BackendStart):
		return true, ""
	case e.verb == waits.Cancel && (!now.QueryStart.Equal(old.QueryStart) || now.State != "active" && now.State != "fastpath function call"):
		return true, ""
	}
	why := now.State
	if w := waitEvent(now); w != "" {
		why += ", " + w
	}
	return false, why
}

// found is where the target was found at last.
func (e *ending) found(over bool, why string, after time.Duration) string {
	who := nodeName(e.target.node)
	switch {
	case over && e.verb == waits.Cancel:
		return ", but the statement of " + who + " has ended"
	case over:
		return ", but " + who + " is gone"
	case e.verb == waits.Cancel:
		return fmt.Sprintf(": the statement of %s still runs after %s (%s)", who, took(after), why)
	}
	return fmt.Sprintf(": %s is still there after %s (%s)", who, took(after), why)
}

// unknownSent says that nobody knows whether a signal is under way.
func unknownSent(why string) string { return "not known whether it was sent (" + why + ")" }

// notYet says that the signal has not been acted on.
func notYet(e *ending, after time.Duration, why string) string {
	return "not acted on yet, the signal is pending" + e.found(false, why, after)
}

// verdict says who was freed, or why it did not help.
func (e *ending) verdict(f *waits.Forest, over bool, why string, after time.Duration) said {
	who, did := nodeName(e.target.node), "terminated"
	if e.verb == waits.Cancel {
		did = "canceled"
	}
	all, sure := len(e.target.end.Frees), e.target.end.Direct
	n, last, _ := e.after.Freed()
	head := did + " " + who
	if e.unknown != "" {
		head = unknownSent(e.unknown) + e.found(over, why, after)
	}
	switch {
	case !over && e.unknown != "":
		return said{theme.Warn, head + ": try again"}
	case !over:
		return said{theme.Crit, "it did not help, the signal is still pending" + e.found(over, why, after)}
	case all == 0:
		return said{theme.OK, fmt.Sprintf("%s after %s; nobody waited for it alone", head, took(e.over))}
	case n == all:
		return said{theme.OK, fmt.Sprintf("%s: freed %d of %d after %s", head, n, all, took(last))}
	case n == 0:
		return said{theme.Warn, fmt.Sprintf("%s: freed 0 of %d in %s; %s", head, all, took(after), e.after.Rest(f))}
	}
	role := theme.OK
	if n < sure {
		role = theme.Warn
	}
	return said{role, fmt.Sprintf("%s: freed %d of %d after %s; %s", head, n, all, took(last), e.after.Rest(f))}
}

// took prints how long an effect took: the first reading that shows it says so.
func took(d time.Duration) string {
	if d < 100*time.Millisecond {
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	}
	return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
}
