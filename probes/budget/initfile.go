package budget

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// draft is a budget file in the making: what is known, and for all that is
// guessed a comment that says so.
type draft struct {
	head   []string // comments
	server []size
	// serverNotes are comments on the server's limits.
	serverNotes []string
	keep        int // -1 not said
	match       string
	roles       []draftRole
	poolers     []draftPooler
	left        []string // comments on what was left out
	seen        []string // applications that have a role, as they name themselves
}

// size is one key with its value as the file writes it.
type size struct {
	key   string
	value string
}

type draftRole struct {
	name  string
	sizes []size
	notes []string // comments above the role
}

type draftPooler struct {
	name      string
	sizes     []size
	pools     []string          // database@user
	poolSizes map[string]string // what is known of them
	db, user  string            // of its own connection to the server
	notes     []string
}

func sized(key string, n int) size { return size{key, fmt.Sprint(n)} }

// file writes the draft and holds it to the format: what it returns parses.
func (d *draft) file() (string, error) {
	var b strings.Builder
	for _, c := range d.head {
		fmt.Fprintf(&b, "# %s\n", oneLine(c))
	}
	for _, c := range d.serverNotes {
		fmt.Fprintf(&b, "# %s\n", oneLine(c))
	}
	if len(d.server) > 0 {
		fmt.Fprintf(&b, "server: { %s }\n", flow(d.server))
	}
	if d.keep >= 0 {
		fmt.Fprintf(&b, "keep_free: %d\n", d.keep)
	}
	if d.match != "" {
		fmt.Fprintf(&b, "match: %s\n", quoted(d.match))
	}
	if len(d.roles) > 0 {
		b.WriteString("roles:\n")
	}
	for _, r := range d.roles {
		for _, n := range r.notes {
			fmt.Fprintf(&b, "  # %s\n", oneLine(n))
		}
		fmt.Fprintf(&b, "  %s: { %s }\n", quoted(r.name), flow(r.sizes))
	}
	if len(d.poolers) > 0 {
		b.WriteString("poolers:\n")
	}
	for _, p := range d.poolers {
		for _, n := range p.notes {
			fmt.Fprintf(&b, "  # %s\n", oneLine(n))
		}
		pools := make([]string, len(p.pools))
		for i, name := range p.pools {
			pools[i] = quoted(name) + ": " + cmp.Or(p.poolSizes[name], "{}")
		}
		fmt.Fprintf(&b, "  %s: { %s }\n", quoted(p.name), flow(append(p.sizes, size{"pools", "{ " + strings.Join(pools, ", ") + " }"})))
	}
	for _, c := range d.left {
		fmt.Fprintf(&b, "# %s\n", oneLine(c))
	}
	text := b.String()
	if _, err := Parse("the drafted budget", []byte(text)); err != nil {
		return "", err
	}
	return text, nil
}

func flow(sizes []size) string {
	out := make([]string, len(sizes))
	for i, s := range sizes {
		out[i] = s.key + ": " + s.value
	}
	return joined(out)
}

func joined(items []string) string { return strings.Join(items, ", ") }

// quoted is s as a YAML value: plain where that is safe.
func quoted(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-") == "" && !isWord(s) && s[0] != '-' {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range s {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteRune(c)
		case c < ' ' || c >= 0x7f && c <= 0xa0 || c == 0x2028 || c == 0x2029 || c == 0xfeff || c > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, c)
		default:
			b.WriteRune(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// isWord: YAML or this format would read it as something else than a name.
func isWord(s string) bool {
	_, ok := truth(s)
	return ok || slices.Contains([]string{"null", "y", "n"}, strings.ToLower(s))
}

// oneLine keeps a comment a comment, whatever is in it.
func oneLine(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c >= 0x7f && c < 0xa0 || c == 0x2028 || c == 0x2029 || c == 0xfeff || c == 0xfffd || c == 0xfffe || c == 0xffff {
			return ' '
		}
		return c
	}, s)
}

// nameOf makes a name that the format takes and that is not in use.
func (d *draft) nameOf(s string) string {
	s = strings.Map(func(c rune) rune {
		if c <= ' ' || c > '~' || strings.ContainsRune(",=+()", c) {
			return '-'
		}
		return c
	}, s)
	s = strings.Trim(s, "-")
	if len(s) > 50 {
		s = s[:50]
	}
	if s == "" || slices.Contains(reservedNames(), s) {
		s = "app-" + s
	}
	for name, i := s, 2; ; i++ {
		if !d.has(name) {
			return name
		}
		name = fmt.Sprintf("%s-%d", s, i)
	}
}

func (d *draft) has(name string) bool {
	return slices.ContainsFunc(d.roles, func(r draftRole) bool { return r.name == name }) ||
		slices.ContainsFunc(d.poolers, func(p draftPooler) bool { return p.name == name })
}
