package budget

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

func commonRoleKeys() []string {
	return []string{
		"kind", "processes", "replicas", "extra", "surge", "runs", "group", "concurrency",
		"via", "match", "also", "expect",
	}
}

func (r *reader) roles(f *File, n *yaml.Node) {
	for _, e := range r.entries(n, "roles") {
		if len(f.Roles) == maxRoles {
			r.errorf(e.line, "more than %d roles", maxRoles)
			return
		}
		if !r.name(e, "role") {
			continue
		}
		f.Roles = append(f.Roles, r.role(e))
	}
}

// role reads one role. The kind comes first: it says which parameters there
// are.
func (r *reader) role(e entry) *Role {
	out := &Role{
		Name: e.key, Line: e.line, Kind: "pool", Params: map[string]int{},
		Processes: 1, Replicas: 1, Runs: RunsAlways, Concurrency: 1,
	}
	what := "role " + e.key
	before := len(r.errs)
	entries := r.entries(e.val, what)
	k, _ := findKind("pool")
	for _, x := range entries {
		if x.key != "kind" {
			continue
		}
		name, ok := r.text(x.val, what+": kind")
		if !ok {
			return out
		}
		if k, ok = findKind(name); !ok {
			r.errorf(x.line, "%s: no kind %q%s", what, name, didYouMean(name, kindNames()))
			return out
		}
	}
	out.Kind, out.kind = k.name, k
	for _, x := range entries {
		if p, ok := k.param(x.key); ok {
			r.roleParam(out, p, x)
		} else {
			r.roleKey(out, x)
		}
	}
	if len(r.errs) > before {
		return out
	}
	if _, _, err := k.sizes(out.Params); err != nil {
		r.errorf(e.line, "%s: %s", what, err)
	}
	if out.match == nil && strings.ContainsFunc(out.Name, func(c rune) bool { return c < ' ' || c > '~' }) {
		r.errorf(e.line, "%s: PostgreSQL keeps only printable ASCII of an application_name, so no session has this name; give it match:", what)
	}
	for _, idle := range append(out.idleKeys(), out.kind.idleParams(out.Params)...) {
		r.errorf(e.line, "%s: %s", what, idle)
	}
	return out
}

// idleKeys are what a role says that can have no effect on how it runs.
func (r *Role) idleKeys() []string {
	var out []string
	steady, job := r.Runs == RunsAlways, r.Group != "" || r.atOnce
	if r.Group != "" && (steady || r.Runs == RunsManual) {
		out = append(out, "a group is for jobs, of which one runs at a time; runs: job")
	}
	if r.atOnce && steady {
		out = append(out, "concurrency is how many of a job run at once (runs: job, or manual); what always runs has replicas and processes")
	}
	if r.Surge.Declared && !steady && (r.Runs != RunsOff || job) {
		out = append(out, "surge is the extra replicas of a deploy, which only what always runs has; a job's copies are its concurrency")
	}
	return out
}

func (r *reader) roleParam(role *Role, p param, x entry) {
	what := "role " + role.Name + ": " + x.key
	if _, dup := role.Params[p.name]; dup {
		r.errorf(x.line, "%s is said twice: it is another name of %s", what, p.name)
		return
	}
	must := mustBeNumber
	if p.flag {
		must = "must be on or off"
	}
	text, ok := r.scalar(x.val, what, must)
	if !ok {
		return
	}
	v, err := role.kind.parse(p, what, text)
	if err != nil {
		r.errorf(x.line, "%s", err)
		return
	}
	role.Params[p.name] = v
}

// roleKey reads a key that every kind has.
func (r *reader) roleKey(role *Role, x entry) {
	what := "role " + role.Name + ": " + x.key
	switch x.key {
	case "kind":
	case "processes":
		role.Processes = r.count(x, what, 1)
	case "replicas":
		role.Replicas, role.replicasGiven = r.count(x, what, 0), true
	case "concurrency":
		role.Concurrency, role.atOnce = r.count(x, what, 1), true
	case "extra":
		r.extra(role, x, what)
	case "surge":
		if text, ok := r.scalar(x.val, what, "must be a whole number, or a percentage of the replicas: 1, 25%"); ok {
			s, err := parseSurge(text, what)
			if err != nil {
				r.errorf(x.line, "%s", err)
			}
			role.Surge = s
		}
	case "runs":
		if text, ok := r.text(x.val, what); ok {
			role.Runs = r.runs(text, x.line, what)
		}
	case "group":
		role.Group, _ = r.text(x.val, what)
	case "via":
		role.Via, _ = r.text(x.val, what)
	case "match":
		role.match = r.rules(x.val, what)
	case "also":
		role.also = r.rules(x.val, what)
	case "expect":
		role.Expect = r.expect(x, what)
	default:
		r.unknownOf(x, "role "+role.Name, slices.Concat(commonRoleKeys(), role.kind.paramNames()), slices.Concat(role.kind.firstNames(), commonRoleKeys()))
	}
}

// count is a whole number from lo; lo when it is none.
func (r *reader) count(x entry, what string, lo int) int {
	n, ok := r.number(x.val, what, lo, maxSize)
	if !ok {
		return lo
	}
	return n
}

func (r *reader) extra(role *Role, x entry, what string) {
	for _, e := range r.entries(x.val, what) {
		if n, ok := r.number(e.val, what+" "+e.key, 0, maxSize); ok {
			role.Extra = append(role.Extra, Extra{e.key, n})
		}
	}
}

// parseSurge reads "2" or "25%".
func parseSurge(text, what string) (Surge, error) {
	digits, percent := strings.CutSuffix(text, "%")
	hi := maxSize
	if percent {
		hi = 1000
	}
	n, err := wholeNumber(digits, what, 0, hi)
	if _, none := strconv.Atoi(digits); none != nil {
		err = fmt.Errorf("%s is %q; it must be a whole number, or a percentage of the replicas: 1, 25%%", what, text)
	}
	return Surge{Declared: true, N: n, Percent: percent}, err
}

func (r *reader) runs(text string, line int, what string) Runs {
	if on, ok := truth(text); ok {
		if on {
			return RunsAlways
		}
		return RunsOff
	}
	switch v := Runs(text); v {
	case RunsAlways, RunsJob, RunsManual, RunsOff:
		return v
	}
	r.errorf(line, "%s is %q%s", what, text, didYouMean(text, []string{"always", "job", "manual", "off"}))
	return RunsAlways
}

// expectations are the long states that a role may be in without a warning.
func expectations() []string { return []string{"advisory", "idle-in-transaction", "long-statements"} }

func (r *reader) expect(x entry, what string) []string {
	var out []string
	for _, n := range list(x.val) {
		v, ok := r.text(n, what)
		if ok && !slices.Contains(expectations(), v) {
			r.errorf(x.line, "%s: no expectation %q%s", what, v, didYouMean(v, expectations()))
			continue
		}
		out = append(out, v)
	}
	return out
}

// list is a sequence's items, or the one value that stands for a list of one.
func list(n *yaml.Node) []*yaml.Node {
	n = resolve(n)
	switch {
	case isNull(n):
		return nil
	case n.Kind == yaml.SequenceNode:
		return n.Content
	}
	return []*yaml.Node{n}
}
