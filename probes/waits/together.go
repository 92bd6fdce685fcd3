package waits

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// mostTogether is how many sessions are named as to be ended together.
const mostTogether = 8

// mostTries bounds for how many of a root's waiters that is worked out.
const mostTries = 4

// together is the action on a root whose end alone frees nobody, for all behind
// it wait for others too: those that must end with it.
func (f *Forest) together(t *Tree) Action {
	root := t.Root
	act := Action{Verb: Other, Key: root.Key, Text: "ending " + f.Name(root.Key) + " alone frees nobody: all behind it wait for others, too"}
	var best End
	var with []int
	tries := 0
	for _, w := range f.waitersOf(root) {
		others := f.roots(w, root.proc)
		if len(others) == 0 || len(others) >= mostTogether || t.Victims*(tries+1) > mostVisits {
			continue
		}
		if tries++; tries > mostTries {
			break
		}
		if e := f.sim.end(append([]int{root.proc}, others...)...); e.Direct > best.Direct || e.Direct == best.Direct && e.Most > best.Most {
			best, with = e, others
		}
	}
	if best.Most == 0 {
		return act
	}
	f.jointly(&act, root, with, best)
	return act
}

// jointly makes act the end of root with others, which frees best.
func (f *Forest) jointly(act *Action, root *Node, with []int, best End) {
	act.Frees, act.Direct, act.Most = len(best.Frees), best.Direct, best.Most
	steps := []Step{f.step(root)}
	act.AtMost = f.keeps(root, steps[0])
	for _, p := range with {
		n := f.node(p)
		steps = append(steps, f.step(n))
		act.AtMost = act.AtMost || f.keeps(n, steps[len(steps)-1])
	}
	act.With = steps[1:]
	if !slices.ContainsFunc(steps, func(s Step) bool { return s.Verb == Other }) {
		act.Verb = steps[0].Verb
	}
	frees := best.Freed()
	if act.AtMost {
		frees = best.AtMost()
	}
	act.Text = fmt.Sprintf("%s: frees %s; one alone frees nobody%s", f.all(steps), frees, f.rollbacks(steps))
}

// keeps reports whether a step may leave locks to its session.
func (f *Forest) keeps(n *Node, s Step) bool { return s.Verb == Cancel && f.advise(n).AtMost }

// waitersOf are the processes that wait directly for a root, those drawn below it
// first, the longest waits first.
func (f *Forest) waitersOf(root *Node) []int {
	var out []int
	for _, n := range root.Children {
		out = append(out, n.proc)
	}
	for _, k := range root.Elsewhere {
		if p, ok := f.g.find(k); ok {
			out = append(out, p)
		}
	}
	return out
}

// roots are those other than root at which the ways up from p end; none when one
// ends in a circle.
func (f *Forest) roots(p, root int) []int {
	seen := map[int]bool{p: true}
	up := []int{p}
	var out []int
	for i := 0; i < len(up); i++ {
		if len(f.cand[up[i]]) == 0 && up[i] != root {
			out = append(out, up[i])
		}
		for j := range f.cand[up[i]] {
			if b := f.cand[up[i]][j].proc; !seen[b] {
				seen[b] = true
				up = append(up, b)
			}
		}
	}
	slices.SortFunc(out, func(a, b int) int { return compareKeys(f.g.procs[a].key, f.g.procs[b].key) })
	return out
}

// step is how to end one of several.
func (f *Forest) step(n *Node) Step {
	a := f.advise(n)
	switch {
	case n.Key.Prepared():
		return Step{Rollback, n.Key}
	case masked(n.Session) || !ending(a.Terminate) || a.Terminate == Harmful:
		return Step{Other, n.Key}
	}
	return Step{verb(a), n.Key}
}

// all says which to end and how: end both (cancel 1 and terminate 2).
func (f *Forest) all(steps []Step) string {
	parts := make([]string, len(steps))
	for i, s := range steps {
		parts[i] = string(s.Verb) + " " + f.Name(s.Key)
		switch {
		case s.Verb == Other, i > 0 && s.Verb == steps[i-1].Verb:
			parts[i] = f.Name(s.Key)
		case s.Verb == Rollback:
			parts[i] = "roll back " + f.Name(s.Key)
		}
	}
	last := len(parts) - 1
	switch {
	case last == 0 && steps[0].Verb == Other:
		return "end " + parts[0]
	case last == 0:
		return parts[0]
	}
	return "end " + cmp.Or(map[int]string{2: "both"}[len(parts)], "all "+strconv.Itoa(len(parts))) +
		" (" + strings.Join(parts[:last], ", ") + " and " + parts[last] + ")"
}

// rollbacks says where and with what the prepared transactions of several steps are
// rolled back, "" there are none.
func (f *Forest) rollbacks(steps []Step) string {
	var out strings.Builder
	last := ""
	for _, s := range steps {
		if s.Verb != Rollback {
			continue
		}
		where, what, _ := strings.Cut(f.rollback(f.Node(s.Key)), ": ")
		if out.WriteString("; "); where != last || what == "" {
			out.WriteString(where)
			if what != "" {
				out.WriteString(": ")
			}
		}
		out.WriteString(what)
		last = where
	}
	return out.String()
}

// Name is what to call a process: its pid, or the gid of a prepared transaction.
func (f *Forest) Name(k Key) string {
	if p := f.Prepared(k); p != nil {
		return fmt.Sprintf("prepared %q", p.GID)
	}
	return k.String()
}

// safe is the action for who waits for a safe snapshot until all blockers end.
func (f *Forest) safe(blockers []*Node) Action {
	steps := make([]Step, len(blockers))
	for i, n := range blockers {
		steps[i] = f.step(n)
	}
	a := Action{Verb: Wait, Text: "wait, or begin it without DEFERRABLE"}
	if len(steps) == 0 || len(steps) > mostTogether {
		return a
	}
	a.Verb, a.Key, a.With, a.Frees, a.Direct, a.Most = steps[0].Verb, steps[0].Key, steps[1:], 1, 1, 1
	for _, n := range blockers {
		if a.Grant == "" {
			a.Grant = f.rights.missing(n.Session)
		}
	}
	a.Text = f.all(steps) + ", or begin it without DEFERRABLE" + f.rollbacks(steps)
	if a.Grant != "" {
		a.Text = "needs " + a.Grant + " to " + a.Text
	}
	return a
}
