package waits_test

import (
	"slices"
	"time"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/waits"
)

// endOnStandby: who holds up replay may be ended on condition that it still does, for
// replay's sake and for each of those behind it, and for nobody else's.
func (p *player) endOnStandby(trees []*waits.Tree) {
	p.t.Helper()
	if len(trees) == 0 {
		return
	}
	for _, t := range trees {
		x := t.Root.Session
		if x.State != "idle in transaction" {
			p.t.Fatalf("%+v: a cancel would end its statement", x)
		}
		aim := func(victim int) probes.Target {
			return probes.Target{PID: x.PID, BackendStart: x.BackendStart, XactStart: x.XactStart, QueryStart: x.QueryStart, Victim: victim}
		}
		victims := slices.Clone(t.Root.Children)
		for i := 0; i < len(victims); i++ {
			n := victims[i]
			victims = append(victims, n.Children...)
			if r, err := p.sampler.Cancel(p.t.Context(), aim(n.Key.PID)); err != nil || r.Outcome != probes.Sent { // which an idle one does not heed
				p.t.Errorf("cancel, for %v: got %+v, %v", n.Key, r, err)
			}
		}
		if r, err := p.sampler.Terminate(p.t.Context(), aim(int(p.mon.PgConn().PID()))); err != nil || r.Outcome != probes.Changed {
			p.t.Errorf("for one that does not wait: got %+v, %v", r, err)
		}
		if r, err := p.sampler.Terminate(p.t.Context(), aim(t.Root.Children[0].Key.PID)); err != nil || r.Outcome != probes.Sent {
			p.t.Errorf("terminate: got %+v, %v", r, err)
		}
	}
	waiting := map[string]bool{}
	for name, s := range p.sessions {
		waiting[name] = s.pg != nil && !s.finished()
	}
	for name := range waiting {
		for end := time.Now().Add(patience); waiting[name] && !p.sessions[name].finished(); time.Sleep(5 * time.Millisecond) {
			if time.Now().After(end) {
				p.t.Fatalf("%s waits on", name)
			}
		}
	}
}
