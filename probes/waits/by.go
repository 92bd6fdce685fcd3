package waits

import "strings"

// EndBy answers what happens if n were ended by a verb now. Unlike the end of the
// session, a cancel takes a queued request away and may leave the advisory locks that
// it holds: who waits for these may run, and is not sure to.
func (f *Forest) EndBy(v Verb, n *Node) End {
	e := f.WhatIf(n.Key)
	if v != Cancel || !f.queued(n) {
		return e
	}
	return f.cancelled(newSimulation(f, newReach(f.g)), n, e)
}

// Unless is the condition on what the end of n frees, "" none: who else may lock the
// row that one waits for behind it, or what else a command behind it waits for.
func (f *Forest) Unless(n *Node) string {
	return strings.TrimPrefix(f.unless(&Tree{Root: n}), ": ")
}

// answered yields the waits that are known from answers alone and that name p.
func (g *graph) answered(p int, yield func(*wait, link)) {
	for _, w := range g.waits {
		if w.obj != nil {
			continue
		}
		for _, l := range w.explicit {
			if l.proc == p {
				yield(w, l)
			}
		}
	}
}
