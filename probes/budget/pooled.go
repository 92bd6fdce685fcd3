package budget

import (
	"fmt"
	"slices"
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

// whereabouts says whether a session is a pooler's server connection.
type whereabouts struct {
	pooler string // whose it is; "" none's
	known  bool   // else it may be any pooler's, or connect directly
}

// marginS is how much older than a console's answer a session must be to count as
// one that was there then.
const marginS = 1

// find says whose a session is. A console's answer is proof, both ways; where
// there is none, a pooler's own match in the file is. Without either it stays
// unknown. A pid alone is none: the pooler may have other servers than this one.
func (l *live) find(s *probes.Session) whereabouts {
	out := whereabouts{known: true}
	for _, p := range l.f.Poolers {
		switch mine, known := l.isServer(p, s); {
		case mine:
			return whereabouts{p.Name, true}
		case !known:
			out.known = false
		}
	}
	return out
}

// isServer says whether a session is a server connection of one pooler.
func (l *live) isServer(p *PoolerDecl, s *probes.Session) (mine, known bool) {
	i := slices.IndexFunc(l.poolers, func(x probes.Pooler) bool { return x.Name == p.Name })
	if i < 0 {
		return p.excludes(Who{Kind: s.Kind, App: s.App, User: s.User, Database: s.Database, Addr: s.Addr})
	}
	x := &l.poolers[i]
	for _, c := range x.Servers {
		same := c.User == s.User && c.Database == s.Database
		switch {
		case c.Port > 0 && c.Port == s.Port && (same || c.PID == s.PID), c.PID == s.PID && same:
			return true, true
		case c.PID == 0 && same:
			return false, false // one of its connections logs in: it may be this one
		}
	}
	if !x.Whole || s.BackendStart.IsZero() {
		return false, false
	}
	return false, l.s.At.Sub(s.BackendStart).Seconds() > x.AgeS+marginS
}

// excludes says what the file's own match of a pooler says of a session: its
// server connections are those that fit, and no others. Addresses are not to be
// seen in masked rows.
func (p *PoolerDecl) excludes(w Who) (mine, known bool) {
	if p.match == nil {
		return false, false
	}
	n := w.normal()
	if slices.ContainsFunc(p.match, func(r rule) bool { return r.fits(n) }) {
		return true, true
	}
	byAddr := slices.ContainsFunc(p.match, func(r rule) bool { return r.addrLocal || r.addr.IsValid() })
	return false, !byAddr || w.Kind != probes.KindMasked
}

// groupKey is what all backends of a group have in common.
type groupKey struct{ kind, database, user, app, addr, state, act string }

func keyOf(g *probes.Group) groupKey {
	return groupKey{g.Kind, g.Database, g.User, g.App, g.Addr, g.State, g.Act}
}

// sessions are the snapshot's by their group, where a pooler's console was read
// and they were asked for.
func (l *live) sessions() map[groupKey][]*probes.Session {
	out := map[groupKey][]*probes.Session{}
	if l.f == nil || len(l.poolers) == 0 {
		return out
	}
	for i := range l.s.Sessions {
		s := &l.s.Sessions[i]
		k := groupKey{s.Kind, s.Database, s.User, s.App, s.Addr, s.State, actOf(s)}
		out[k] = append(out[k], s)
	}
	return out
}

// actOf is what an active session does, as the groups tell it.
func actOf(s *probes.Session) string {
	if s.State != "active" {
		return ""
	}
	switch s.WaitEventType {
	case "Lock":
		return "lock"
	case "Client":
		return "client"
	case "", "IO", "LWLock", "BufferPin", "Buffer":
		return "run"
	}
	return "other"
}

// part is the backends of a group whose whereabouts are the same.
type part struct {
	probes.Group
	at whereabouts
}

// split divides a group of client backends by their whereabouts. Those without a
// row of their own in the snapshot are judged by what the group says.
func (l *live) split(g probes.Group) []part {
	if l.f == nil || len(l.f.Poolers) == 0 {
		return []part{{g, whereabouts{known: true}}}
	}
	var out []part
	rest := g.N
	for _, s := range l.rowsOf[keyOf(&g)] {
		if rest == 0 {
			break
		}
		rest--
		at := l.find(s)
		i := slices.IndexFunc(out, func(p part) bool { return p.at == at })
		if i < 0 {
			i = len(out)
			out = append(out, part{probes.Group{
				Kind: g.Kind, Database: g.Database, User: g.User, App: g.App, Addr: g.Addr, State: g.State, Act: g.Act,
				MaxTxS: -1, MaxQueryS: -1, MaxInStateS: -1, WaitS: -1,
			}, at})
		}
		l.count(&out[i].Group, s)
	}
	if rest == g.N {
		return []part{{g, l.findGroup(&g)}}
	}
	if rest > 0 {
		more := g
		more.N = rest
		out = append(out, part{more, l.findGroup(&g)})
	}
	return out
}

// findGroup is find for backends that are not told apart: what the file says of
// them.
func (l *live) findGroup(g *probes.Group) whereabouts {
	out := whereabouts{known: true}
	for _, p := range l.f.Poolers {
		switch mine, known := p.excludes(Who{Kind: g.Kind, App: g.App, User: g.User, Database: g.Database, Addr: g.Addr}); {
		case mine:
			return whereabouts{p.Name, true}
		case !known:
			out.known = false
		}
	}
	return out
}

// count adds a session to a group as the tick's statement does.
func (l *live) count(g *probes.Group, s *probes.Session) {
	since := func(t time.Time) float64 {
		if t.IsZero() {
			return -1
		}
		return l.s.At.Sub(t).Seconds()
	}
	g.N++
	g.MaxTxS = max(g.MaxTxS, since(s.XactStart))
	g.MaxInStateS = max(g.MaxInStateS, since(s.StateChange))
	if s.State == "active" {
		g.MaxQueryS = max(g.MaxQueryS, since(s.QueryStart))
	}
	if s.WaitEventType == "Lock" {
		g.WaitS = max(g.WaitS, since(s.QueryStart))
	}
	if !s.BackendStart.IsZero() {
		if g.OldestStart.IsZero() || s.BackendStart.Before(g.OldestStart) {
			g.OldestStart = s.BackendStart
		}
		if s.BackendStart.After(g.NewestStart) {
			g.NewestStart = s.BackendStart
		}
	}
}

// owner is whose row a part of a group counts in, and whose name it bears where
// that is another's. unsure: it bears the name of a role behind a pooler, and
// whether it is the pooler's is not known.
func (l *live) owner(p *part) (m, lender Match, unsure bool) {
	w := Who{Kind: p.Kind, App: p.App, User: p.User, Database: p.Database, Addr: p.Addr}
	m = l.f.Match(w)
	switch {
	case p.at.pooler != "":
		pooler := Match{Role: p.at.pooler, Origin: Pooler}
		if m = l.f.matchClient(w); m.Origin == Declared {
			return pooler, m, false
		}
		return pooler, Match{}, false
	case p.at.known:
		return l.f.matchClient(w), Match{}, false // it connects directly, whoever's pools it resembles
	case m.Via != "":
		return Match{Role: m.Via, Origin: Pooler}, m, true
	}
	return m, Match{}, m.Origin == Pooler
}

// matchClient is Match for a session that is known to be no pooler's own: whose
// name it bears.
func (f *File) matchClient(w Who) Match {
	if f == nil {
		return f.Match(w)
	}
	bare := *f
	bare.Poolers = nil
	return bare.Match(w)
}

// bypassed finds roles whose sessions go past the pooler that the budget puts
// them behind. Only what is known counts: see find.
func bypassed(l *live) []probes.Finding {
	var out []probes.Finding
	for _, r := range l.rows {
		if r.role == nil || r.Via == "" || r.Now == 0 {
			continue
		}
		from := map[string]int{}
		for _, g := range r.groups {
			from[orUnknown(g.Addr)] += g.N
		}
		out = append(out, found("pooler-bypassed", probes.Warn, r.Role,
			bypassText(r), "let it connect to the pooler; or declare what must connect directly as a role of its own without via:, so that its slots are counted",
			map[string]any{"now": r.Now, "via": r.Via, "from": from, "through_pooler": r.lent}))
	}
	return out
}

func bypassText(r *liveRow) string {
	verb := "connect"
	if r.Now == 1 {
		verb = "connects"
	}
	return fmt.Sprintf("%s: %s %s directly, past pooler %s: the budget counts no slots for that", r.Role, plural(r.Now, "session"), verb, r.Via)
}
