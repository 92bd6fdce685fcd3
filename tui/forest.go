package tui

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/budget"
	"github.com/pgsonde/pgsonde/probes/waits"
)

// forest is who waits for whom in this reading, made when it is first asked for.
func (f *frame) forest() *waits.Forest {
	if f.locks == nil {
		f.locks = buildForest(f.file, f.snap)
	}
	return f.locks
}

// buildForest names roles as the rows of budget.Usage do.
func buildForest(file *budget.File, s *probes.Snapshot) *waits.Forest {
	return waits.Build(s, s.Locks, file.RoleOf)
}

// pinned counts, per role, the connection slots that lock waits hold: waiters
// and those they wait for, each once.
func pinned(f *waits.Forest) map[string]int {
	out := map[string]int{}
	for _, n := range f.All() {
		s := n.Session
		if s == nil || s.Kind != probes.KindClient && s.Kind != probes.KindMasked {
			continue
		}
		if n.Edge != nil || len(n.Children) > 0 || len(n.Elsewhere) > 0 {
			out[n.Role]++
		}
	}
	return out
}

// nodeOf is how a session is drawn; nil when it neither waits nor blocks. A
// parallel worker is drawn as its leader.
func nodeOf(f *waits.Forest, s *probes.Session) *waits.Node {
	for _, pid := range []int{s.PID, s.LeaderPID} {
		if n := f.Node(waits.Key{PID: pid}); pid != 0 && n != nil {
			return n
		}
	}
	return nil
}

// rootOf is the root of the tree that a node is drawn in.
func rootOf(n *waits.Node) *waits.Node {
	for n.Parent != nil {
		n = n.Parent
	}
	return n
}

// treeOf is the tree that a node is drawn in, nil none.
func treeOf(f *waits.Forest, n *waits.Node) *waits.Tree {
	root := rootOf(n)
	for _, t := range f.Drawn() {
		if t.Root == root {
			return t
		}
	}
	return nil
}

// nodeKey is the identity of a node as a row.
func nodeKey(n *waits.Node) string {
	switch {
	case n.Key.Prepared():
		return "prepared " + n.Key.VXID
	case n.Session != nil:
		return sessionKey(n.Session)
	}
	return strconv.Itoa(n.Key.PID)
}

// nodeName is what to call a node: its pid, or the gid of a prepared transaction.
func nodeName(n *waits.Node) string {
	if n.Key.Prepared() {
		if n.GID != "" {
			return "prepared " + strconv.Quote(n.GID)
		}
		return n.Key.String()
	}
	return strconv.Itoa(n.Key.PID)
}

// lockText is a mode on an object in words. What everybody knows is left out:
// the schema public, and the mode where the object says it all.
func lockText(lockType string, mode probes.LockMode, object string) string {
	if object == "" {
		return unnamed(lockType)
	}
	switch lockType {
	case "transactionid", "tuple", "virtualxid", "advisory", "spectoken", "applytransaction":
		return plain(object)
	}
	m := strings.TrimSuffix(mode.String(), "Lock")
	if m == "" {
		return plain(object)
	}
	return m + " on " + plain(object)
}

// unnamed says what is locked where only its type is known.
func unnamed(lockType string) string {
	switch lockType {
	case "advisory":
		return "an advisory key"
	case "relation":
		return "a relation"
	case "transactionid", "virtualxid":
		return "a transaction"
	case "tuple":
		return "a row"
	}
	return lockType
}

// plain leaves the schema public out.
func plain(object string) string {
	if rest, ok := strings.CutPrefix(object, "public."); ok {
		return rest
	}
	return strings.Replace(object, " of public.", " of ", 1)
}

// wantText is what a waiter waits for.
func wantText(e *waits.Edge) string { return lockText(e.LockType, e.Mode, e.Object) }

// holdText is what a blocker holds that others wait for, "" when unknown.
func holdText(f *waits.Forest, n *waits.Node) string {
	for _, c := range n.Children {
		if e := c.Edge; e != nil && e.Blocker == n.Key && e.Kind == waits.Hard {
			return lockText(e.LockType, e.HeldOrWanted, e.Object)
		}
	}
	for _, k := range n.Elsewhere {
		for _, e := range f.Blockers(k) {
			if e.Blocker == n.Key && e.Kind == waits.Hard {
				return lockText(e.LockType, e.HeldOrWanted, e.Object)
			}
		}
	}
	return ""
}

// seconds of a duration, -1 when it is unknown.
func seconds(d time.Duration) float64 {
	if d < 0 {
		return -1
	}
	return d.Seconds()
}

// waitAge prints a wait, "?" when it is unknown.
func waitAge(d time.Duration) string {
	if d < 0 {
		return "?"
	}
	return age(d.Seconds())
}

// blockersText names those a node waits for: 4711, or 4711 and how many more.
func blockersText(f *waits.Forest, n *waits.Node) string {
	if n.Edge == nil {
		return ""
	}
	return keysText(append([]waits.Key{n.Edge.Blocker}, without(f.AlsoBlockedBy(n), n.Edge.Blocker)...), 1)
}

// keysText names the first of some sessions, and counts the others.
func keysText(ks []waits.Key, most int) string {
	var parts []string
	for i, k := range ks {
		if i == most {
			return strings.Join(parts, ", ") + " +" + strconv.Itoa(len(ks)-i)
		}
		parts = append(parts, k.String())
	}
	return strings.Join(parts, ", ")
}

// blocks is how many sessions wait for a node, as far as they are drawn below
// it or say so.
func blocks(n *waits.Node) int { return n.Behind + len(n.Elsewhere) }

// rolesByCount are the roles of a tree, most slots first.
func rolesByCount(t *waits.Tree) []string {
	return slices.SortedFunc(maps.Keys(t.ByRole), func(a, b string) int {
		if d := t.ByRole[b] - t.ByRole[a]; d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
}

func plural(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return strconv.Itoa(n) + " " + what
}
