package budget

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
)

// maxName is the length of the longest name that PostgreSQL keeps, of an
// application, a user and a database (NAMEDATALEN - 1).
const maxName = 63

// maxCompared bounds how many rules are held against each other.
const maxCompared = 1000

// neverMatches finds roles that no session can be of: another rule that comes
// first takes all that theirs would, or their names are longer than any.
func neverMatches(f *File) []probes.Finding {
	var out []probes.Finding
	var before []owned // rules that come first, in the order of Match
	for _, p := range f.Poolers {
		before = append(before, ownedBy("pooler "+p.Name, p.match)...)
	}
	all := before
	for _, r := range f.Roles {
		all = append(all, ownedBy("role "+r.Name, append(append([]rule(nil), r.also...), r.match...))...)
	}
	if len(all) > maxCompared {
		return nil
	}
	for _, r := range f.Roles {
		rules := ownedBy("role "+r.Name, append(append([]rule(nil), r.also...), r.match...))
		first := before
		if r.match == nil {
			own := owned{rule: rule{app: exactly(f.ownName(r)), text: "application_name " + f.ownName(r)}, owner: "role " + r.Name}
			if f.capture != nil { // which comes after all rules of all roles
				first = all
			}
			rules = append(rules, own)
		}
		var dead []string
		long := true // all for their names' length, which no order cures
		for _, x := range rules {
			if why := f.whyNever(r, x, first); why != "" {
				dead = append(dead, why)
				long = long && x.tooLong() != ""
			}
		}
		if len(dead) > 0 {
			out = append(out, neverMatch(r, dead, len(dead) == len(rules), long))
		}
		before = append(before, rules...)
	}
	return out
}

// owned is a rule with whose it is.
type owned struct {
	rule
	owner string
}

func ownedBy(owner string, rules []rule) []owned {
	var out []owned
	for _, r := range rules {
		out = append(out, owned{r, owner})
	}
	return out
}

func neverMatch(r *Role, dead []string, all, long bool) probes.Finding {
	what, action := r.Name+" can never match: ", "give the narrower role first, or a match that only its own sessions have"
	if long {
		action = fmt.Sprintf("give a match of at most %d bytes, as PostgreSQL keeps of a name, or one that ends in *", maxName)
	}
	if !all {
		what = "a rule of " + r.Name + " can never match: "
	}
	return found("role-never-matches", probes.Warn, r.Name, what+strings.Join(dead, "; "), action, map[string]any{"all": all})
}

// whyNever says why no session can come to a rule of r; "" when one can.
func (f *File) whyNever(r *Role, x owned, first []owned) string {
	if long := x.tooLong(); long != "" {
		return long
	}
	if r.match == nil && f.capture != nil && x.app.text == f.ownName(r) && !f.capture.canBe(r.Name) {
		return fmt.Sprintf("the file's match %s gives no such name", f.Capture)
	}
	for _, y := range first {
		if y.owner != x.owner && y.covers(x.rule) {
			return fmt.Sprintf("%s of %s takes all of %s", y.shown(), y.owner, x.shown())
		}
	}
	return ""
}

// tooLong says which part of a rule is longer than any name; "" when none is.
func (r rule) tooLong() string {
	for _, part := range []struct {
		what string
		p    *pattern
	}{{"application_name", r.app}, {"user", r.user}, {"database", r.db}} {
		if n := part.p.least(); n > maxName {
			return fmt.Sprintf("its %s of %d bytes is cut to %d", part.what, n, maxName)
		}
	}
	return ""
}

func (r rule) shown() string { return strings.ReplaceAll(r.text, "app=", "application_name ") }

// exactly is the pattern of one name.
func exactly(name string) *pattern {
	return &pattern{text: name, whole: true}
}

// covers: all that fits x fits r, as far as that can be told.
func (r rule) covers(x rule) bool {
	kind := func(k string) string {
		if k == "" {
			return probes.KindClient
		}
		return k
	}
	return kind(r.kind) == kind(x.kind) && r.app.covers(x.app) && r.user.covers(x.user) && r.db.covers(x.db) && r.coversAddr(x)
}

func (r rule) coversAddr(x rule) bool {
	switch {
	case r.addrLocal:
		return x.addrLocal
	case r.addr.IsValid():
		return x.addr.IsValid() && r.addr.Bits() <= x.addr.Bits() && r.addr.Contains(x.addr.Addr())
	}
	return true
}

// covers: every text that fits x fits p. A nil pattern fits all. Of two regular
// expressions it is told only of the same one.
func (p *pattern) covers(x *pattern) bool {
	switch {
	case p == nil || p.text == "*" || p.text == "~" || p.text == "~.*":
		return true
	case x == nil:
		return false
	case p.text == x.text:
		return true
	case x.isRegexp():
		return false
	case p.isRegexp():
		return x.exact() && p.fits(x.text)
	case p.exact():
		return false
	}
	return globCovers(p.text, x.text, x.whole)
}

func (p *pattern) isRegexp() bool { return !p.whole && strings.HasPrefix(p.text, "~") }

// exact: one text alone fits.
func (p *pattern) exact() bool { return p.whole || !p.isRegexp() && !strings.ContainsAny(p.text, "*?") }

// globCovers matches a glob against another, whose own signs stand for
// themselves: a * takes any of them, a ? one that stands for one character.
// whole: the other has no signs.
func globCovers(glob, other string, whole bool) bool {
	next := make([]bool, len(other)+1) // of the rest of glob after i, by the rest of other
	next[len(other)] = true
	for i := len(glob) - 1; i >= 0; i-- {
		now := make([]bool, len(other)+1)
		for j := len(other); j >= 0; j-- {
			switch {
			case glob[i] == '*':
				now[j] = next[j] || j < len(other) && now[j+1]
			case j == len(other), !whole && other[j] == '*', !whole && other[j] == '?' && glob[i] != '?':
			default:
				now[j] = (glob[i] == other[j] || glob[i] == '?') && next[j+1]
			}
		}
		next = now
	}
	return next[0]
}

// least is the length of the shortest text that fits; 0 when it is not known.
func (p *pattern) least() int {
	switch {
	case p == nil || p.isRegexp():
		return 0
	case p.whole:
		return len(p.text)
	}
	return len(p.text) - strings.Count(p.text, "*")
}

// canBe: the pattern's {role} may stand for the name.
func (p *pattern) canBe(name string) bool {
	parsed, err := syntax.Parse(p.re.String(), syntax.Perl)
	if err != nil {
		return true
	}
	hole := holeOf(parsed)
	if hole == nil {
		return true
	}
	re, err := regexp.Compile(`(?s)\A(?:` + hole.String() + `)\z`)
	return err != nil || re.MatchString(name)
}

func holeOf(re *syntax.Regexp) *syntax.Regexp {
	if re.Op == syntax.OpCapture && re.Name == "role" {
		return re.Sub[0]
	}
	for _, sub := range re.Sub {
		if found := holeOf(sub); found != nil {
			return found
		}
	}
	return nil
}
