package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/waits"
)

const (
	victimTime     = time.Second // that a victim may take to be seen past its lock
	victimSessions = 5000        // looked at meanwhile
)

// victimWatch follows the --victim, and those who may run before it, or without one
// all who waited for the target alone. A nil one has nobody to follow.
type victimWatch struct {
	victim waits.Key // the zero one: all
	all    []waits.Key
	after  *waits.Aftermath
	last   *waits.Forest
	blind  bool // the state of one of them is hidden from this login
}

// followVictims reads, before the signal, who waits for the target of a verb.
func followVictims(ctx context.Context, s *probes.Sampler, t probes.Target, v waits.Verb) (*victimWatch, error) {
	f, _, err := readWaits(ctx, s)
	if err != nil {
		if t.Victim != 0 {
			return nil, err
		}
		return nil, nil // it is ended without that, too
	}
	w := &victimWatch{victim: waits.Key{PID: t.Victim}, last: f}
	target := waits.Key{PID: t.PID}
	if t.Victim != 0 {
		w.all = []waits.Key{w.victim}
	}
	follow := w.all
	if n := f.Node(target); n != nil {
		frees := f.EndBy(v, n).Frees
		if follow = append(follow, frees...); t.Victim == 0 {
			w.all = frees
		}
	}
	if len(w.all) == 0 {
		return nil, nil
	}
	w.after = waits.Follow(f, target, follow)
	return w, nil
}

func readWaits(ctx context.Context, s *probes.Sampler) (*waits.Forest, *probes.Snapshot, error) {
	snap, err := s.Tick(ctx, probes.Want{Sessions: true, AllKinds: true, Limit: victimSessions, Locks: true})
	if err != nil {
		return nil, nil, err
	}
	return waits.Build(snap, snap.Locks, nil), snap, nil
}

// see takes the next reading, of so long after the signal.
func (w *victimWatch) see(ctx context.Context, s *probes.Sampler, after time.Duration) {
	if w == nil || w.settled() {
		return
	}
	f, snap, err := readWaits(ctx, s)
	if err != nil || f.Unread {
		return
	}
	for i := range snap.Sessions {
		if x := &snap.Sessions[i]; x.State == "" && slices.Contains(w.all, waits.Key{PID: x.PID}) {
			w.blind = true
		}
	}
	w.last = f
	w.after.See(f, waits.Look{Sessions: snap.Sessions, All: len(snap.Sessions) < victimSessions, Own: snap.Server.OwnPIDs, After: after})
}

// settled says that there is no more to see.
func (w *victimWatch) settled() bool {
	if w == nil || w.blind {
		return true
	}
	return !slices.ContainsFunc(w.all, func(k waits.Key) bool {
		fate := w.after.Fate(k)
		return fate == waits.Waits || fate == waits.Unseen
	})
}

// tell says in the document what has become of those who waited.
func (d *endDocument) tell(w *victimWatch) {
	if w == nil || w.blind {
		return
	}
	if w.victim.PID == 0 {
		d.count(w)
		return
	}
	fate := w.after.Fate(w.victim)
	if d.victim = w.after.Words(w.last, w.victim); fate == waits.Unseen {
		return
	}
	still := fate == waits.Waits
	d.VictimWaits, d.VictimFate = &still, &fate
}

// count says how many were freed, and what became of the others.
func (d *endDocument) count(w *victimWatch) {
	n, last, _ := w.after.Freed()
	all := len(w.all)
	d.Waited, d.Freed = &all, &n
	d.victim = fmt.Sprintf("freed %d of %d", n, all)
	if n > 0 {
		d.victim += fmt.Sprintf(" after %.1f s", last.Seconds())
	}
	if rest := w.after.Rest(w.last); rest != "" {
		d.victim += "; " + rest
	}
}
