package budget

import (
	"slices"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v3"
)

// Parse reads a budget. name stands before the line number in errors, which
// are FileErrors: every mistake found, the first line first.
func Parse(name string, data []byte) (*File, error) {
	r := &reader{file: name}
	f := &File{Name: name, KeepFree: defaultKeepFree}
	f.Server = ServerDecl{MaxConnections: 100, SuperuserReserved: 3, declared: map[string]int{}}
	root := r.document(data)
	if root == nil {
		return fileOrError(f, r)
	}
	const what = "the budget"
	known := []string{"server", "keep_free", "match", "roles", "poolers", "settings", "scenarios"}
	var settings, scenarios *yaml.Node
	for _, e := range r.entries(root, what) {
		switch e.key {
		case "server":
			r.server(f, e.val)
		case "keep_free":
			if n, ok := r.number(e.val, "keep_free", 0, maxSize); ok {
				f.KeepFree, f.keepGiven = n, true
			}
		case "match":
			r.captureRule(f, e.val)
		case "roles":
			r.roles(f, e.val)
		case "poolers":
			r.poolers(f, e.val)
		case "settings":
			settings = e.val
		case "scenarios":
			scenarios = e.val
		default:
			r.unknown(e, what, known)
		}
	}
	r.settings(f, settings)
	for _, role := range f.Roles {
		role.contract = f.contractOf(role.Name)
	}
	r.references(f)
	r.sameMatches(f)
	if len(r.errs) == 0 {
		f.never = neverMatches(f)
		r.scenarios(f, scenarios)
	}
	return fileOrError(f, r)
}

func fileOrError(f *File, r *reader) (*File, error) {
	if err := r.err(); err != nil {
		return nil, err
	}
	return f, nil
}

// serverFields are the keys of the server section with where they go, and their
// bounds.
func (s *ServerDecl) fields() map[string]*int {
	return map[string]*int{
		"max_connections": &s.MaxConnections, "superuser_reserved": &s.SuperuserReserved,
		"reserved": &s.Reserved, "provider_reserved": &s.ProviderReserved,
		"cpus": &s.CPUs, "version": &s.Version,
	}
}

func (s *ServerDecl) names() []string {
	return []string{"max_connections", "superuser_reserved", "reserved", "provider_reserved", "cpus", "version"}
}

func (r *reader) server(f *File, n *yaml.Node) {
	fields := f.Server.fields()
	line := lineOf(n)
	for _, e := range r.entries(n, "server") {
		field, ok := fields[e.key]
		if !ok {
			r.unknown(e, "server", f.Server.names())
			continue
		}
		lo := 0
		if e.key == "max_connections" {
			lo = 1
		}
		if v, ok := r.number(e.val, "server "+e.key, lo, maxSize); ok {
			*field, f.Server.declared[e.key] = v, v
		}
	}
	if f.Server.usable() < 0 {
		r.errorf(line, "server keeps %d slots, more than the %d it has", f.Server.MaxConnections-f.Server.usable(), f.Server.MaxConnections)
	}
}

// Assumed reports that the file does not say max_connections.
func (s ServerDecl) Assumed() bool {
	_, said := s.declared["max_connections"]
	return !said
}

func (s ServerDecl) usable() int {
	return s.MaxConnections - s.SuperuserReserved - s.Reserved - s.ProviderReserved
}

// reservedNames would be misread in a scenario or hide a built-in row.
func reservedNames() []string {
	return []string{"all", "surge", "server", "keep_free", "default", "base", roleOperators, roleSystem}
}

// name checks the name of a role or pooler.
func (r *reader) name(e entry, what string) bool {
	switch {
	case e.key == "":
		r.errorf(e.line, "a %s without a name", what)
	case len(e.key) > 63:
		r.errorf(e.line, "%s name of %d bytes; the most is 63, as for application_name", what, len(e.key))
	case strings.ContainsFunc(e.key, func(c rune) bool {
		return unicode.IsSpace(c) || !unicode.IsPrint(c) || strings.ContainsRune(",=+()", c)
	}):
		r.errorf(e.line, "%s name %q: no spaces and none of , = + ( )", what, e.key)
	case slices.Contains(reservedNames(), e.key):
		r.errorf(e.line, "%q is a word of the format; choose another %s name", e.key, what)
	default:
		return true
	}
	return false
}

// references checks what the sections say about each other.
func (r *reader) references(f *File) {
	var poolers []string
	for _, p := range f.Poolers {
		poolers = append(poolers, p.Name)
		if f.Role(p.Name) != nil {
			r.errorf(p.Line, "%q is both a role and a pooler", p.Name)
		}
	}
	for _, role := range f.Roles {
		if other := f.Role(role.Group); other != nil && other.Group != role.Group {
			r.errorf(role.Line, "role %s: group %q is the name of another role; a group is a word that all its members share", role.Name, role.Group)
		}
		if role.Via != "" && !slices.Contains(poolers, role.Via) {
			r.errorf(role.Line, "role %s goes via %q, which is no pooler of this file%s", role.Name, role.Via, didYouMean(role.Via, poolers))
		}
	}
}
