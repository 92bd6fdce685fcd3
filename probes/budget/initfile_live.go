package budget

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
)

// InitFromSnapshot drafts a budget from what a server shows: a role for each
// application seen, its pods, and the most connections of one pod. peaks are
// the most connections seen of each role of Use(nil, s), by its name, over a
// longer time; it may be nil. What a snapshot cannot show is a guess, and each
// guess is a comment. The drafted file's own check on the same snapshot is
// clean: what is found is the server's state, not the file's mistake.
//
// Of poolers their pools and clients are drafted too, and the sessions that are
// their own are no application's; s needs its sessions to tell them apart.
func InitFromSnapshot(s *probes.Snapshot, peaks map[string]int, poolers ...SeenPooler) (string, error) {
	l := beside(s, poolers)
	d := &draft{keep: defaultKeepFree}
	d.head = []string{
		"Drafted by pgsonde from " + orServer(s.Server.Target) + ", " + s.At.UTC().Format("2006-01-02 15:04:05 UTC") + ".",
		"Pools are the most that was seen, not the most that can be opened: put the",
		"deployment's own figures (kind, pool sizes, replicas) in their place.",
	}
	if s.Server.Masked {
		d.head = append(d.head, "GUESS: this login sees no addresses (grant pg_monitor), so every role is taken for one replica.")
	}
	lim := s.Limits
	if lim.MaxConnections == 0 {
		d.setServer(serverKnown{})
	} else {
		d.server = []size{sized("max_connections", lim.MaxConnections), sized("superuser_reserved", lim.SuperuserReserved)}
		if lim.Reserved > 0 {
			d.server = append(d.server, sized("reserved", lim.Reserved))
		}
	}
	prefix := commonPrefix(l.rows, poolers)
	if prefix != "" {
		d.match = prefix + "{role}"
	}
	slices.SortStableFunc(l.rows, func(a, b *liveRow) int { return strings.Compare(a.Role, b.Role) })
	for _, r := range l.rows {
		r.fill(l.u.Bound)
		if r.Origin == Captured {
			d.addSeen(r, peaks[r.Role])
			d.seen = append(d.seen, r.Role)
		}
	}
	for _, p := range poolers {
		d.pooled(p)
	}
	return d.file()
}

func orServer(target string) string {
	if target == "" {
		return "a server"
	}
	return target
}

// commonPrefix is what most of the application names share up to a colon, as
// "werft:" of werft:api; "" when no two do.
func commonPrefix(rows []*liveRow, poolers []SeenPooler) string {
	names := map[string]bool{}
	for _, r := range rows {
		names[r.Role] = r.Origin == Captured
	}
	for _, p := range poolers {
		for _, c := range p.Clients {
			names[withoutFile(Who{App: c.App, User: c.User, Database: c.Database}.normal()).Role] = true
		}
	}
	counts := map[string]int{}
	for name, captured := range names {
		if at := strings.Index(name, ":"); captured && at > 0 && at < len(name)-1 && plainASCII(name) {
			counts[name[:at+1]]++
		}
	}
	best := ""
	for p, n := range counts {
		if n > 1 && !strings.ContainsAny(p, "*?~{") && (best == "" || n > counts[best] || n == counts[best] && p < best) {
			best = p
		}
	}
	return best
}

func plainASCII(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c > '~' })
}

// cutPrefix is what a pattern like "werft:{role}" captures of a name.
func cutPrefix(name, pattern string) (short string, captured bool) {
	prefix := strings.TrimSuffix(pattern, "{role}")
	short, captured = strings.CutPrefix(name, prefix)
	return short, captured && prefix != ""
}

// addSeen adds a role that was seen.
func (d *draft) addSeen(r *liveRow, peak int) {
	short, captured := cutPrefix(r.Role, d.match)
	out := draftRole{name: d.nameOf(short)}
	pods, most, busiest := max(1, val(r.Pods)), 0, false
	for _, p := range r.AllPods {
		most = max(most, p.Now)
	}
	for _, p := range r.AllPods {
		busiest = busiest || p.Now == most && (p.Busy == p.Now || p.Busy > 1 && p.Busy == p.Now-1)
	}
	seen := max(r.Now, peak)
	pool := max(1, most, (seen+pods-1)/pods)
	out.notes = append(out.notes, fmt.Sprintf("seen: %s%s from %s", atMost(r.masked), plural(r.Now, "connection"), addresses(r)))
	if peak > r.Now {
		out.notes[0] += fmt.Sprintf(", at most %d at once", peak)
	}
	if busiest && pool == most {
		pool += max(1, pool/4)
		out.notes = append(out.notes, fmt.Sprintf("GUESS: at most one of the %d of one address is idle, so its pool is taken to be larger than that", most))
	}
	out.sizes = []size{sized("pool", pool)}
	if pods > 1 {
		out.sizes = append(out.sizes, sized("replicas", pods))
	}
	if !captured || out.name != short {
		m, ok := seenMatch(r)
		if !ok {
			d.left = append(d.left, fmt.Sprintf("%s: %s, left out: no pattern can tell them apart", r.Role, plural(r.Now, "connection")))
			return
		}
		out.sizes = append(out.sizes, size{"match", m})
	}
	d.roles = append(d.roles, out)
}

func atMost(masked bool) string {
	if masked {
		return "at most "
	}
	return ""
}

func addresses(r *liveRow) string {
	switch n := len(r.AllPods); {
	case n == 0:
		return "unknown addresses"
	case n == 1:
		return r.AllPods[0].Addr
	default:
		return fmt.Sprintf("%d addresses", n)
	}
}

// seenMatch is the match of a role whose name the file's pattern does not give:
// its application names; where it sends none of its own, its user and database
// with that very name, for named applications may share the login.
func seenMatch(r *liveRow) (string, bool) {
	var out []string
	for _, g := range r.groups {
		app := Who{App: g.App}.normal().App
		if !plainASCII(app + g.User + g.Database) {
			return "", false
		}
		m := quoted(literal(app))
		if loc := perProcess.FindStringIndex(app); loc != nil {
			mark := "-"
			if app[loc[0]] == ' ' {
				mark = " ["
			}
			m = quoted(literal(app[:loc[0]]) + mark + "*")
		} else if app == "" || slices.Contains(driverNames(), app) {
			m = "{ " + flow([]size{{"app", m}, {"user", quoted(literal(g.User))}, {"db", quoted(literal(g.Database))}}) + " }"
		}
		if !slices.Contains(out, m) {
			out = append(out, m)
		}
	}
	slices.Sort(out)
	if len(out) == 1 {
		return out[0], true
	}
	return "[" + strings.Join(out, ", ") + "]", len(out) > 0
}

// literal makes a pattern that fits s; each sign that is special in a pattern is
// matched by ?, which takes any one.
func literal(s string) string {
	s = strings.ReplaceAll(s, "*", "?")
	if strings.HasPrefix(s, "~") {
		s = "?" + s[1:]
	}
	return s
}
