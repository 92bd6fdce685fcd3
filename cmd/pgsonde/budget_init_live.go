package main

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/bouncer"
	"github.com/pgsonde/pgsonde/probes/budget"
)

// sighting is what was seen of a server and its poolers over a while.
type sighting struct {
	peaks   map[string]int
	last    *probes.Snapshot
	poolers []budget.SeenPooler
	// consoles are those of the poolers, in their order.
	consoles []bouncer.Declared
}

// fromServer looks at a server, and at the consoles of --pooler, for a while and
// drafts from the last reading and the peaks.
func (c *budgetInitCmd) fromServer(a *app) (string, error) {
	consoles, err := initPoolers(a.cli.Pooler)
	if err != nil {
		return "", err
	}
	s, err := a.open(c.target)
	if err != nil {
		return "", err
	}
	defer s.Close()
	var fleet *bouncer.Fleet
	want := probes.Want{}
	if len(consoles) > 0 {
		if fleet, err = a.fleet(consoles, a.askPassword); err != nil {
			return "", err
		}
		defer fleet.Close()
		want = probes.Want{Sessions: true, Limit: mostRows, QueryBytes: 1}
	}
	seen := sighting{peaks: map[string]int{}, consoles: consoles}
	var told []bouncer.Told
	until := time.Now().Add(c.Watch)
	stop := errors.New("seen enough")
	before := func() {
		if fleet != nil {
			told = fleet.Read(a.ctx)
		}
	}
	err = a.eachAfter(before, s, want, true, func(snap *probes.Snapshot) error {
		if err := firstAway(told); err != nil && a.ctx.Err() == nil {
			return err
		}
		seen.add(snap, told)
		if time.Now().After(until) {
			return stop
		}
		return nil
	})
	switch {
	case err != nil && !errors.Is(err, stop):
		return "", err
	case seen.last == nil:
		return "", fmt.Errorf("drafting a budget: interrupted before the first reading")
	}
	draft, err := budget.InitFromSnapshot(seen.last, seen.peaks, seen.poolers...)
	return strings.TrimRight(draft, "\n") + "\n", err
}

// initPoolers are the consoles of --pooler: NAME=DSN names the pooler, which
// several may be instances of.
func initPoolers(flags []string) ([]bouncer.Declared, error) {
	var out []bouncer.Declared
	for _, flag := range flags {
		name, dsn := undeclaredPooler, flag
		if m := namedConsole.FindStringSubmatch(flag); m != nil && !isKeyword(m[1]) {
			name, dsn = m[1], strings.TrimPrefix(flag, m[1]+"=")
		}
		if !isDSN(dsn) {
			return nil, fmt.Errorf("--pooler %s: a console is host=… port=6432 user=… or postgres://USER@HOST:6432/pgbouncer", redact(dsn))
		}
		i := slices.IndexFunc(out, func(d bouncer.Declared) bool { return d.Spec.Name == name })
		if i < 0 {
			i = len(out)
			out = append(out, bouncer.Declared{Spec: bouncer.PoolerSpec{Name: name}})
		}
		out[i].Consoles = append(out[i].Consoles, bouncer.Options{DSN: dsn})
		out[i].Spec.Instances++
	}
	return out, nil
}

// isKeyword: host of "host=postgres://…" is no pooler's name.
func isKeyword(word string) bool {
	return slices.Contains([]string{"host", "hostaddr", "port", "user", "dbname", "service", "sslmode"}, word)
}

// firstAway is why a console was not read: a draft without it would be wrong.
func firstAway(told []bouncer.Told) error {
	for _, t := range told {
		for _, in := range t.Instances {
			if in.Err != nil {
				return fmt.Errorf("reading the console of %s: %w", t.Spec.Name, withHint(in.Err))
			}
		}
	}
	return nil
}

// add takes one reading in.
func (w *sighting) add(snap *probes.Snapshot, told []bouncer.Told) {
	w.last = snap
	now := time.Now()
	for i, t := range told {
		if i == len(w.poolers) {
			p := budget.SeenPooler{Instances: len(t.Instances)}
			for _, o := range w.consoles[i].Consoles {
				if dsn := withoutPassword(o.DSN); dsn != "" {
					p.Consoles = append(p.Consoles, dsn)
				}
			}
			w.poolers = append(w.poolers, p)
		}
		p := &w.poolers[i]
		p.Pooler = t.Pooler(now)
		away := notDrafted(p, t, snap)
		var clients []budget.SeenClients
		for _, in := range t.Instances {
			for k := range in.Reading.Clients {
				if c := &in.Reading.Clients[k]; !away[c.Database] {
					clients = countClient(clients, c)
				}
			}
		}
		for _, c := range clients {
			k := slices.IndexFunc(p.Clients, func(o budget.SeenClients) bool { return alike(o, c) })
			if k < 0 {
				p.Clients = append(p.Clients, c)
			} else {
				p.Clients[k].N = max(p.Clients[k].N, c.N)
			}
		}
	}
	for role, n := range budget.RolesSeen(snap, w.poolers...) {
		w.peaks[role] = max(w.peaks[role], n)
	}
}

// notDrafted takes the pools on other servers out of what was seen of a pooler, and
// notes what else cannot be drafted. Their databases are returned.
func notDrafted(p *budget.SeenPooler, t bouncer.Told, snap *probes.Snapshot) map[string]bool {
	p.Elsewhere, p.Unsure, p.Unused = nil, nil, nil
	v := bouncer.Judge(bouncer.Input{Instances: t.Instances, Snapshot: snap, Spec: t.Spec})
	known := slices.ContainsFunc(v.Pools, func(q bouncer.PoolView) bool { return q.Ours })
	away := map[string]bool{}
	for i := range v.Pools {
		q := &v.Pools[i]
		switch {
		case q.Ours:
		case !known:
			if !slices.Contains(p.Unsure, q.Server) {
				p.Unsure = append(p.Unsure, q.Server)
			}
		default:
			name := q.Database + "@" + q.User
			if p.Elsewhere == nil {
				p.Elsewhere = map[string][]string{}
			}
			if !slices.Contains(p.Elsewhere[q.Server], name) {
				p.Elsewhere[q.Server] = append(p.Elsewhere[q.Server], name)
			}
			away[q.Database] = true
		}
	}
	slices.Sort(p.Unsure)
	for _, names := range p.Elsewhere {
		slices.Sort(names)
	}
	p.Pools = slices.DeleteFunc(p.Pools, func(q probes.PoolerPool) bool { return away[q.Database] })
	for _, in := range t.Instances {
		for _, d := range in.Reading.Databases {
			used := slices.ContainsFunc(v.Pools, func(q bouncer.PoolView) bool { return q.Database == d.Name })
			if !used && !slices.Contains(p.Unused, d.Name) {
				p.Unused = append(p.Unused, d.Name)
			}
		}
	}
	return away
}

// passwordPart is a password of a keyword string.
var passwordPart = regexp.MustCompile(`(?i)(^|\s)(?:ssl)?password\s*=\s*(?:'(?:[^'\\]|\\.)*'|\S*)`)

// withoutPassword is a connection string as a file may hold it; "" when it cannot
// be had without its password.
func withoutPassword(dsn string) string {
	if u, err := url.Parse(dsn); err == nil && u.Scheme != "" && strings.HasPrefix(dsn, u.Scheme+"://") {
		q := u.Query()
		q.Del("password")
		q.Del("sslpassword")
		u.RawQuery = q.Encode()
		if u.User != nil {
			u.User = url.User(u.User.Username())
		}
		dsn = u.String()
	} else {
		dsn = strings.TrimSpace(passwordPart.ReplaceAllString(dsn, "$1"))
	}
	if hasPassword(dsn) {
		return ""
	}
	return dsn
}

func alike(a, b budget.SeenClients) bool {
	a.N, b.N = 0, 0
	return a == b
}

func countClient(all []budget.SeenClients, c *bouncer.Socket) []budget.SeenClients {
	one := budget.SeenClients{User: c.User, Database: c.Database, Addr: c.Addr, N: 1}
	if c.App != nil {
		one.App = *c.App
	}
	if strings.HasPrefix(c.Addr, "unix") {
		one.Addr = "local"
	}
	if i := slices.IndexFunc(all, func(o budget.SeenClients) bool { return alike(o, one) }); i >= 0 {
		all[i].N++
		return all
	}
	return append(all, one)
}
