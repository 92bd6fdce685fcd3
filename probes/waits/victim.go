package waits

// VictimOf is a process that waits directly for n, 0 when nobody does: one that is the
// session itself, and no parallel worker of it, where there is such a one.
func (f *Forest) VictimOf(n *Node) int {
	worker := 0
	alone := func(e *Edge) bool {
		if worker == 0 {
			worker = e.WaiterPID
		}
		return e.WaiterPID == e.Waiter.PID
	}
	for _, x := range f.All() {
		if x.Edge != nil && x.Edge.Blocker == n.Key && alone(x.Edge) {
			return x.Edge.WaiterPID
		}
	}
	for _, k := range n.Elsewhere {
		for _, e := range f.Blockers(k) {
			if e.Blocker == n.Key && alone(&e) {
				return e.WaiterPID
			}
		}
	}
	for _, s := range f.SafeSnapshots {
		for _, b := range s.Blockers {
			if worker == 0 && b.Key == n.Key {
				return s.Waiter.Key.PID
			}
		}
	}
	return worker
}
