package probes

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	slowEvery   = 30 * time.Second
	slowTimeout = 2 * time.Second
	nameWait    = 100 * time.Millisecond // a tick waits so long for the name of a newcomer
)

// slowClock paces the reading of names, limits and settings.
type slowClock struct {
	next    time.Time
	running chan struct{} // closed when the reading that runs is done; nil none
}

// learn reacts to what a tick showed beyond its rows: a restart, a failover, a
// reloaded configuration, a newcomer without a name. It starts the slow reading
// when that is due and waits for it only for a newcomer's name, and not long.
func (s *Sampler) learn(ctx context.Context, f tickFacts) {
	s.mu.Lock()
	due := !time.Now().Before(s.slow.next) || f.unknown || !f.conf.Equal(s.state.conf)
	s.state.conf = f.conf
	running := s.slow.running
	if due && running == nil {
		running = s.job(s.refresh)
		s.slow.running = running
	}
	if s.state.server.VersionNum >= openedSince && !s.opened.running && !time.Now().Before(s.opened.next) {
		s.opened.running = true
		s.job(s.readOpened)
	}
	s.mu.Unlock()
	if !f.unknown || running == nil {
		return
	}
	t := time.NewTimer(nameWait)
	defer t.Stop()
	select {
	case <-running:
	case <-t.C:
	case <-ctx.Done():
	}
}

// identity is what makes one server the same one as a tick ago.
type identity struct {
	started  time.Time
	recovery bool
	system   string
}

// compare notes what changed about the server itself; the caller holds mu.
func (s *Sampler) compare(snap *Snapshot, f tickFacts) {
	now := identity{started: f.started, recovery: snap.Server.InRecovery, system: s.watch.system()}
	old := s.state.last
	s.state.last = now
	if old.started.IsZero() {
		return
	}
	say := func(text string) { snap.Notes = append(snap.Notes, Note{At: snap.At, Text: text}) }
	if !old.started.Equal(now.started) {
		say("server restarted at " + now.started.Format(time.RFC3339))
		s.opened.all = nil
	}
	switch {
	case old.recovery && !now.recovery:
		say("failover: the server left recovery and is a primary now")
	case !old.recovery && now.recovery:
		say("failover: the server that answers is a standby")
	}
	if old.system != "" && now.system != "" && old.system != now.system {
		say("another cluster answers: its system identifier is not the same")
	}
}

// refresh reads names, limits and settings on the work connection, each on its
// own: what cannot be read now stays as it was.
func (s *Sampler) refresh(ctx context.Context) {
	names, nerr := s.Work(ctx, slowTimeout, "names")
	settings, serr := s.Work(ctx, slowTimeout, "limits")
	byRole, rerr := s.Work(ctx, slowTimeout, "role_settings")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slow.running = nil
	s.slow.next = time.Now().Add(slowEvery)
	limits := s.state.limits
	if nerr == nil {
		s.learnNames(names, &limits)
	}
	if serr == nil {
		learnSettings(settings, &limits)
	}
	if rerr == nil {
		s.learnRoleSettings(byRole, &limits)
	}
	if nerr != nil || serr != nil || rerr != nil {
		s.slow.next = time.Now().Add(slowTimeout)
	}
	s.state.limits = limits
}

// learnNames replaces the maps of names and encodings. Names of roles and
// databases are in the encoding of whichever database made them: mostly UTF-8.
func (s *Sampler) learnNames(r *Rows, limits *Limits) {
	roles, dbs, enc := map[uint32]string{}, map[uint32]string{}, map[uint32]string{}
	limits.Roles, limits.NoLogin, limits.Databases, limits.ReservedUsers = nil, nil, nil, nil
	for r.Next() {
		oid, name := r.OID(1), decodeText("", r.Raw(2))
		if r.Int(0) == 1 {
			dbs[oid], enc[oid] = name, string(r.Raw(4))
			if r.Bool(5) {
				limits.Databases = append(limits.Databases, DatabaseLimit{Name: name, OID: oid, ConnLimit: r.Int(3), Encoding: enc[oid]})
			}
			continue
		}
		roles[oid] = name
		switch {
		case r.Bool(5):
			limits.Roles = append(limits.Roles, RoleLimit{Name: name, OID: oid, ConnLimit: r.Int(3), Superuser: r.Bool(6), Replication: r.Bool(7), Member: r.Bool(9)})
		case !strings.HasPrefix(name, "pg_"):
			limits.NoLogin = append(limits.NoLogin, name)
		}
		if r.Bool(8) {
			limits.ReservedUsers = append(limits.ReservedUsers, name)
		}
	}
	gone := map[uint32]bool{}
	for oid := range s.state.seen {
		if roles[oid] == "" && dbs[oid] == "" {
			gone[oid] = true
		}
	}
	s.state.roles, s.state.dbs, s.state.gone, s.state.seen = roles, dbs, gone, nil
	s.enc.set(enc)
}

// learnSettings reads the settings; the four that count slots also as numbers.
func learnSettings(r *Rows, limits *Limits) {
	m := make(map[string]string, r.Len())
	for r.Next() {
		name, shown := string(r.Raw(0)), decodeText("", r.Raw(1))
		if string(r.Raw(4)) == "client" {
			continue // what pgsonde asked for when it connected hides the server's value
		}
		if overridden(name) {
			shown = showTime(string(r.Raw(2)))
		}
		m[name] = shown
	}
	number := func(name string) int {
		n, _ := strconv.Atoi(m[name])
		return n
	}
	limits.Settings = m
	limits.MaxConnections = number("max_connections")
	limits.SuperuserReserved = number("superuser_reserved_connections")
	limits.Reserved = number("reserved_connections")
	limits.MaxWalSenders = number("max_wal_senders")
}

// overridden says that pgsonde's own sessions have changed the setting: the value
// a new session would get is shown instead.
func overridden(name string) bool {
	return name == "idle_session_timeout" || slices.ContainsFunc(ownTimeouts(0), func(k keyword) bool { return k.key == name })
}

// showTime writes milliseconds as SHOW does: in the largest unit without a rest.
func showTime(ms string) string {
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil || n == 0 {
		return ms
	}
	for _, u := range []struct {
		name string
		ms   int64
	}{{"d", 86400000}, {"h", 3600000}, {"min", 60000}, {"s", 1000}} {
		if n%u.ms == 0 {
			return strconv.FormatInt(n/u.ms, 10) + u.name
		}
	}
	return ms + "ms"
}

func (s *Sampler) learnRoleSettings(r *Rows, limits *Limits) {
	limits.RoleSettings = nil
	for r.Next() {
		name, value, _ := strings.Cut(decodeText("", r.Raw(2)), "=")
		limits.RoleSettings = append(limits.RoleSettings, RoleSetting{
			Role: s.state.role(r.OID(0)), Database: s.state.database(r.OID(1)), Name: name, Value: value,
		})
	}
}
