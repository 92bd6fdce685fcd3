package main

import (
	"context"
	"time"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/waits"
)

const (
	victimTime     = time.Second // that a victim may take to be seen past its lock
	victimSessions = 5000        // looked at meanwhile
)

// victimWatch follows the --victim, and those who may run before it. A nil one has
// nobody to follow.
type victimWatch struct {
	key   waits.Key
	after *waits.Aftermath
	last  *waits.Forest
	blind bool // its state is hidden from this login
}

// followVictim reads, before the signal, who waits for the target of a verb.
func followVictim(ctx context.Context, s *probes.Sampler, t probes.Target, v waits.Verb) (*victimWatch, error) {
	f, _, err := readWaits(ctx, s)
	if err != nil {
		return nil, err
	}
	w := &victimWatch{key: waits.Key{PID: t.Victim}, last: f}
	target, all := waits.Key{PID: t.PID}, []waits.Key{w.key}
	if n := f.Node(target); n != nil {
		all = append(all, f.EndBy(v, n).Frees...)
	}
	w.after = waits.Follow(f, target, all)
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
		if x := &snap.Sessions[i]; x.PID == w.key.PID && x.State == "" {
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
	fate := w.after.Fate(w.key)
	return fate != waits.Waits && fate != waits.Unseen
}

// tell says in the document what has become of the victim.
func (d *endDocument) tell(w *victimWatch) {
	if w == nil || w.blind {
		return
	}
	fate := w.after.Fate(w.key)
	if d.victim = w.after.Words(w.last, w.key); fate == waits.Unseen {
		return
	}
	still := fate == waits.Waits
	d.VictimWaits, d.VictimFate = &still, &fate
}
