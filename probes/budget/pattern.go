package budget

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// pattern is a glob (* ?), or after a ~ a regular expression that may fit
// anywhere, as PostgreSQL's ~ does.
type pattern struct {
	text string
	re   *regexp.Regexp
	hole int // submatch that is {role}; 0 none
	// whole: text is one name, without signs that stand for others.
	whole bool
}

func (p *pattern) fits(s string) bool { return p.re.MatchString(s) }

// role is what {role} stands for in s.
func (p *pattern) role(s string) (string, bool) {
	if p == nil {
		return "", false
	}
	m := p.re.FindStringSubmatch(s)
	if m == nil || m[p.hole] == "" {
		return "", false
	}
	return m[p.hole], true
}

// newPattern reads a pattern. With hole it must have {role}, or as a regular
// expression a group (?P<role>…).
func newPattern(text string, hole bool) (*pattern, error) {
	for _, c := range text {
		if c < ' ' || c > '~' {
			return nil, fmt.Errorf("pattern %q: only printable ASCII can fit, as PostgreSQL replaces all else in application_name", text)
		}
	}
	expr, isRegexp := strings.CutPrefix(text, "~")
	if !isRegexp {
		expr = globExpr(text, hole)
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		return nil, fmt.Errorf("pattern %q: %w", text, err)
	}
	p := &pattern{text: text, re: re}
	if hole {
		if p.hole = max(0, re.SubexpIndex("role")); p.hole == 0 {
			return nil, fmt.Errorf("pattern %q must say where the role's name stands: \"shop:{role}\"", text)
		}
	}
	return p, nil
}

// globExpr turns a glob into an anchored regular expression.
func globExpr(glob string, hole bool) string {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for len(glob) > 0 {
		switch {
		case hole && strings.HasPrefix(glob, "{role}"):
			b.WriteString(`(?P<role>.+)`)
			glob = glob[len("{role}"):]
			continue
		case glob[0] == '*':
			b.WriteString(`.*`)
		case glob[0] == '?':
			b.WriteString(`.`)
		default:
			b.WriteString(regexp.QuoteMeta(glob[:1]))
		}
		glob = glob[1:]
	}
	b.WriteString(`\z`)
	return b.String()
}

// captureRule reads the file's own match.
func (r *reader) captureRule(f *File, n *yaml.Node) {
	text, ok := r.text(n, "match")
	if !ok {
		return
	}
	p, err := newPattern(text, true)
	if err != nil {
		r.errorf(lineOf(n), "match: %s", err)
		return
	}
	f.Capture, f.capture = text, p
}

// rules reads a role's match or also: an application name pattern, a mapping of
// fields, or a list of these.
func (r *reader) rules(n *yaml.Node, what string) []rule {
	var out []rule
	for _, item := range list(n) {
		if one, ok := r.rule(item, what); ok {
			out = append(out, one)
		}
	}
	if len(out) == 0 {
		r.errorf(lineOf(n), "%s is empty; it would fit nothing", what)
	}
	return out
}

func (r *reader) rule(n *yaml.Node, what string) (rule, bool) {
	var out rule
	n = resolve(n)
	if n.Kind == yaml.ScalarNode {
		p := r.pattern(n, what)
		return rule{app: p, text: "app=" + n.Value}, p != nil
	}
	before := len(r.errs)
	parts := map[string]string{}
	for _, e := range r.entries(n, what) {
		text, ok := r.text(e.val, what+" "+e.key)
		if !ok {
			continue
		}
		parts[e.key] = text
		switch e.key {
		case "app":
			out.app = r.pattern(e.val, what)
		case "user":
			out.user = r.pattern(e.val, what)
		case "db":
			out.db = r.pattern(e.val, what)
		case "kind":
			out.kind = text
		case "addr":
			r.addr(&out, e, text, what)
		default:
			r.unknown(e, what, []string{"app", "user", "db", "addr", "kind"})
		}
	}
	for _, key := range []string{"app", "user", "db", "addr", "kind"} {
		if v, ok := parts[key]; ok {
			out.text += key + "=" + v + " "
		}
	}
	out.text = strings.TrimSpace(out.text)
	if out.text == "" && len(r.errs) == before {
		r.errorf(n.Line, "%s is empty; it would fit everything", what)
	}
	return out, len(r.errs) == before
}

func (r *reader) pattern(n *yaml.Node, what string) *pattern {
	p, err := newPattern(n.Value, false)
	if err != nil {
		r.errorf(n.Line, "%s: %s", what, err)
		return nil
	}
	return p
}

func (r *reader) addr(out *rule, e entry, text, what string) {
	if text == "local" {
		out.addrLocal = true
		return
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		a, err2 := netip.ParseAddr(text)
		if err2 != nil {
			r.errorf(e.line, "%s: addr %q is no address; write 10.0.3.7, 10.9.0.0/16 or local", what, text)
			return
		}
		prefix = netip.PrefixFrom(a, a.BitLen())
	}
	out.addr = prefix.Masked()
}

// sameMatches finds roles whose sessions cannot be told apart.
func (r *reader) sameMatches(f *File) {
	owner := map[string]string{}
	for _, role := range f.Roles {
		texts := map[string]bool{}
		for _, x := range append(append([]rule(nil), role.match...), role.also...) {
			texts[x.text] = true
		}
		if role.match == nil {
			texts["app="+f.ownName(role)] = true
		}
		for text := range texts {
			if other, ok := owner[text]; ok {
				r.errorf(role.Line, "roles %s and %s have the same match (%s): their sessions cannot be told apart", other, role.Name, text)
				continue
			}
			owner[text] = role.Name
		}
	}
}

// ownName is the application name of a role that has no rule of its own.
func (f *File) ownName(role *Role) string {
	if f.capture == nil || strings.HasPrefix(f.Capture, "~") {
		return role.Name
	}
	return strings.ReplaceAll(f.Capture, "{role}", role.Name)
}
