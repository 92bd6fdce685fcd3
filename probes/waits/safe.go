package waits

import "github.com/pgsonde/pgsonde/probes"

// safeSnapshot is the lock type of a wait that the lock table does not show: a
// DEFERRABLE transaction waits until others have ended.
const safeSnapshot = "safe snapshot"

// safeWaits adds the waits for a safe snapshot of those who hold others up: the root
// is then who they wait for. Those that nobody waits for are told apart from the
// trees.
func (g *graph) safeWaits(l *probes.Locks) {
	for _, x := range l.SafeSnapshots {
		p, ok := g.find(Key{PID: x.PID})
		if !ok || len(x.Blockers) == 0 || len(newReach(g).victims(p)) == 0 {
			continue
		}
		w := &wait{proc: p, pid: x.PID, shape: &probes.LockTag{Type: safeSnapshot}}
		for _, b := range x.Blockers {
			if b != 0 && b != x.PID {
				w.explicit = append(w.explicit, link{proc: g.proc(Key{PID: b}), pid: b, kind: Hard})
			}
		}
		if len(w.explicit) > 0 {
			g.addWait(w, nil)
		}
	}
}

// safe reports whether p waits for a safe snapshot and holds others up.
func (p *proc) safe() bool { return len(p.waits) > 0 && p.waits[0].shape.Type == safeSnapshot }
