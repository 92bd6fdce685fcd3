package waits_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
	"github.com/pgsonde/pgsonde/probes/waits"
)

const patience = 20 * time.Second

// stage is the server of one major; a scenario that fails leaves it to nobody.
type stage struct {
	t       *testing.T // of the major: the server ends with it
	in      pgserver.Install
	server  *pgserver.Server
	standby *pgserver.Server
}

// play runs one scenario.
type player struct {
	t        *testing.T
	sc       *scenario
	major    int
	srv      *pgserver.Server
	standby  *pgserver.Server
	sessions map[string]*session
	mon      *pgx.Conn // as the superuser, where the forest is read
	sampler  *probes.Sampler
	alias    map[string]string // what to call a session, by its name
	promised *waits.End        // of the session that was ended last
}

// session is one client of the scenario.
type session struct {
	dsn     string
	pg      *pgconn.PgConn
	pid     int
	pending chan error    // of the statement under way
	ready   chan struct{} // closed when a connection made in the background is, or is not to be
	last    error
}

func play(t *testing.T, st *stage, sc *scenario) {
	if st.server == nil {
		st.server = pgtest.Start(st.t, st.in, pgserver.Options{Settings: settings()})
		pgtest.Exec(t, st.server.DSN("postgres", "postgres"), "alter system set autovacuum = off", "select pg_reload_conf()", "create role scen_nobody login")
	}
	p := &player{t: t, sc: sc, major: st.in.Major, srv: st.server, sessions: map[string]*session{}}
	super := st.server.DSN("postgres", "postgres")
	for _, db := range []string{"scen", "scen2"} {
		if db == "scen2" && !sc.uses(db) {
			continue
		}
		pgtest.Exec(t, super, "drop database if exists "+db+" with (force)", "create database "+db,
			"alter database "+db+" set synchronous_commit = on")
	}
	t.Cleanup(func() {
		if t.Failed() {
			st.server, st.standby = nil, nil
		}
	})
	if sc.Needs == "standby" {
		if st.standby == nil {
			st.standby = startStandby(st.t, t, st.in, st.server)
		}
		p.standby = st.standby
	}
	t.Cleanup(p.teardown)
	for _, sql := range sc.Setup {
		p.setup(sql)
	}
	p.open()
	for i, ph := range sc.Phases {
		name := ph.Name
		if name == "" {
			name = "phase " + strconv.Itoa(i+1)
		}
		if st.in.Major < ph.Min || ph.Max > 0 && st.in.Major > ph.Max {
			continue
		}
		for _, s := range ph.Steps {
			p.step(s)
			if t.Failed() {
				t.Fatalf("%s: gave up at %+v", name, s)
			}
		}
		p.check(name, ph.Expect)
		if i == 0 && ph.Expect != nil && len(ph.Expect.Edges) > 0 {
			p.hidden()
		}
	}
	if !t.Failed() {
		p.endIt()
	}
}

func (p *player) setup(sql string) {
	db := "scen"
	if rest, ok := strings.CutPrefix(sql, "@"); ok {
		db, sql, _ = strings.Cut(rest, " ")
	}
	cfg, err := pgx.ParseConfig(p.srv.DSN("postgres", db))
	if err != nil {
		p.t.Fatal(err)
	}
	sql = strings.NewReplacer("$SOCK", cfg.Host, "$PORT", strconv.Itoa(int(cfg.Port))).Replace(sql)
	c, err := pgconn.Connect(p.t.Context(), p.srv.DSN("postgres", db))
	if err != nil {
		p.t.Fatal(err)
	}
	defer c.Close(context.Background())
	if _, err := c.Exec(p.t.Context(), sql).ReadAll(); err != nil {
		p.t.Fatalf("setup: %s: %v", sql, err)
	}
}

func (p *player) teardown() {
	if p.sampler != nil {
		p.sampler.Close()
	}
	for _, s := range p.sessions {
		s.shut()
	}
	ctx := context.Background()
	if p.mon != nil {
		p.mon.Close(ctx)
	}
	for _, sql := range p.sc.Teardown {
		db := "scen"
		if rest, ok := strings.CutPrefix(sql, "@"); ok {
			db, sql, _ = strings.Cut(rest, " ")
		}
		c, err := pgconn.Connect(ctx, p.srv.DSN("postgres", db))
		if err != nil {
			p.t.Errorf("teardown: %v", err)
			return
		}
		if _, err := c.Exec(ctx, sql).ReadAll(); err != nil {
			p.t.Errorf("teardown: %s: %v", sql, err)
		}
		c.Close(ctx)
	}
	p.rollbackPrepared(ctx)
}

func (p *player) rollbackPrepared(ctx context.Context) {
	c, err := pgx.Connect(ctx, p.srv.DSN("postgres", "scen"))
	if err != nil {
		p.t.Errorf("teardown: %v", err)
		return
	}
	defer c.Close(ctx)
	rows, err := c.Query(ctx, "select gid from pg_prepared_xacts where database = 'scen'")
	if err != nil {
		p.t.Error(err)
		return
	}
	gids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		p.t.Error(err)
	}
	for _, g := range gids {
		if _, err := c.Exec(ctx, "rollback prepared '"+g+"'"); err != nil {
			p.t.Error(err)
		}
	}
}

func (s *session) shut() {
	if s.ready != nil {
		<-s.ready // the test's end ends the attempt
	}
	if s.pg == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if s.pending != nil {
		s.pg.Conn().Close() // the statement's reader is on it: end both
		select {
		case <-s.pending:
		case <-ctx.Done():
		}
		return
	}
	_ = s.pg.Close(ctx)
}

// open connects the monitor, then everybody who is not late, and the sampler
// last: it must not be what the scenario's first steps wait for.
func (p *player) open() {
	at := p.srv
	if p.sc.Mon == "standby" {
		at = p.standby
		p.caughtUp()
	}
	p.mon = pgtest.Connect(p.t, at.DSN("postgres", "scen"))
	s, err := probes.Open(p.t.Context(), probes.Options{DSN: at.DSN("postgres", "scen")})
	if err != nil {
		p.t.Fatal(err)
	}
	p.sampler = s
	for name, spec := range p.sc.Sessions {
		srv, user, db := p.srv, "postgres", "scen"
		if spec.Port == "standby" {
			srv = p.standby
		}
		if spec.User != "" {
			user = spec.User
		}
		if spec.DB != "" {
			db = spec.DB
		}
		app := name
		if spec.App != "" {
			app = spec.App
		}
		p.sessions[name] = &session{dsn: srv.DSN(user, db) + " application_name='" + app + "'"}
		if !spec.Late {
			if err := p.sessions[name].connect(p.t.Context()); err != nil {
				p.t.Fatalf("session %s: %v", name, err)
			}
		}
	}
}

func (s *session) connect(ctx context.Context) error {
	pg, err := pgconn.Connect(ctx, s.dsn)
	if err == nil {
		s.pg, s.pid = pg, int(pg.PID())
	}
	return err
}

// connected: no attempt is under way, in which only connect may look at pid.
func (s *session) connected() bool {
	if s.ready == nil {
		return true
	}
	select {
	case <-s.ready:
		return true
	default:
		return false
	}
}

func (p *player) step(s step) {
	p.t.Helper()
	switch {
	case s.Sleep > 0:
		time.Sleep(s.Sleep)
	case s.Cancel != "":
		p.signal("pg_cancel_backend", s.Cancel)
	case s.Terminate != "":
		_, f := p.forest()
		end := f.WhatIf(waits.Key{PID: p.session(s.Terminate).pid})
		p.promised = &end
		p.terminate(s.Terminate)
	case s.Done != "":
		p.done(s.Done)
	case s.Blocked != "":
		time.Sleep(300 * time.Millisecond)
		if x := p.session(s.Blocked); x.finished() {
			p.t.Errorf("%s is not blocked any more: %v", s.Blocked, x.last)
		}
	case s.Until != "":
		p.until(s.Until)
	case s.Ran != nil:
		p.ran(s)
	case s.Mon != "":
		if _, err := p.mon.Exec(p.t.Context(), p.fill(s.Mon)); err != nil {
			p.t.Errorf("monitor: %s: %v", s.Mon, err)
		}
	case s.Close:
		p.session(s.S).shut()
	case s.Connect:
		p.connect(s)
	default:
		p.send(s)
	}
}

// real is the name in the file of a session that goes by another.
func (p *player) real(name string) string {
	for real, alias := range p.alias {
		if alias == name {
			return real
		}
	}
	return name
}

func (p *player) session(name string) *session {
	s := p.sessions[p.real(name)]
	if s == nil {
		p.t.Fatalf("no session %q", name)
	}
	return s
}

func (p *player) connect(s step) {
	x := p.session(s.S)
	if s.Async || s.Wait {
		x.pending = make(chan error, 1)
		x.ready = make(chan struct{})
		go func() {
			defer close(x.ready)
			x.pending <- x.connect(p.t.Context())
		}()
		return
	}
	p.expectError(s, x.connect(p.t.Context()))
}

func (p *player) expectError(s step, err error) {
	p.t.Helper()
	var pe *pgconn.PgError
	switch {
	case s.Error == "" && err != nil:
		p.t.Errorf("%s: %s: %v", s.S, s.SQL, err)
	case s.Error != "" && (!errors.As(err, &pe) || pe.Code != s.Error):
		p.t.Errorf("%s: %s: got %v, want %s", s.S, s.SQL, err, s.Error)
	}
}

func (p *player) send(s step) {
	x := p.session(s.S)
	if x.pending != nil {
		select {
		case x.last = <-x.pending:
			x.pending = nil
		case <-time.After(patience):
			p.t.Fatalf("%s is still busy", s.S)
		}
	}
	if s.Send {
		x.pg.Exec(context.Background(), s.SQL) // and nobody reads the answer
		return
	}
	x.pending = make(chan error, 1)
	go func(done chan error) {
		_, err := x.pg.Exec(context.Background(), s.SQL).ReadAll()
		done <- err
	}(x.pending)
	switch {
	case s.Async:
	case s.Wait:
		p.until(fmt.Sprintf(`select exists (select from pg_locks l left join pg_stat_activity a using (pid)
			where not l.granted and %d in (l.pid, a.leader_pid)) or exists (select from pg_stat_activity where pid = %d and wait_event = 'SafeSnapshot')`, x.pid, x.pid))
		if x.finished() {
			p.t.Errorf("%s: %s did not wait: %v", s.S, s.SQL, x.last)
		}
		time.Sleep(12 * time.Millisecond) // the next one's arrival is told from this one's
	default:
		select {
		case err := <-x.pending:
			x.pending = nil
			p.expectError(s, err)
		case <-time.After(patience):
			p.t.Fatalf("%s: %s never ended", s.S, s.SQL)
		}
	}
}

// finished says whether the statement under way, if any, has ended.
func (s *session) finished() bool {
	if s.pending == nil {
		return true
	}
	select {
	case s.last = <-s.pending:
		s.pending = nil
		return true
	default:
		return false
	}
}

func (p *player) done(name string) {
	x := p.session(name)
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if x.finished() {
			if x.last != nil {
				p.t.Errorf("%s ended with %v", name, x.last)
			}
			return
		}
	}
	p.t.Errorf("%s never ran", name)
}

// ran waits until nothing moves among a few: some of them are through, and each of
// the others waits for one who is, or for one who waits for such a one.
func (p *player) ran(s step) {
	p.t.Helper()
	var names, through, rest []string
	for _, n := range s.Ran {
		p.session(n)
		names = append(names, p.real(n))
	}
	pids := func(names []string) string {
		out := []string{}
		for _, n := range names {
			out = append(out, strconv.Itoa(p.sessions[n].pid))
		}
		return "array[" + strings.Join(out, ", ") + "]::int[]"
	}
	settled := func() (ok bool) {
		through, rest = nil, nil
		for _, name := range names {
			if p.sessions[name].finished() {
				through = append(through, name)
			} else {
				rest = append(rest, name)
			}
		}
		err := p.mon.QueryRow(p.t.Context(), "select not exists (select from unnest("+pids(rest)+") w where not pg_blocking_pids(w) && "+pids(names)+")").Scan(&ok)
		if err != nil {
			p.t.Fatal(err)
		}
		return ok
	}
	for deadline := time.Now().Add(2 * patience); !settled() || len(through) < s.N; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			break
		}
	}
	if len(through) != s.N {
		p.t.Errorf("of %v: %v ran, want %d", s.Ran, through, s.N)
	}
	if p.promised != nil {
		if n := len(through); len(p.promised.Frees) == len(names) && (n < p.promised.Direct || n > p.promised.Most) {
			p.t.Errorf("of %v: %v ran at once, promised %d to %d", s.Ran, through, p.promised.Direct, p.promised.Most)
		}
		p.promised = nil
	}
	if p.alias == nil {
		p.alias = map[string]string{}
	}
	for i, name := range append(through, rest...) {
		if i < len(s.As) {
			p.alias[name] = s.As[i]
		}
	}
}

func (p *player) signal(f, name string) {
	if _, err := p.mon.Exec(p.t.Context(), "select "+f+"($1)", p.session(name).pid); err != nil {
		p.t.Errorf("%s: %v", f, err)
	}
}

func (p *player) terminate(name string) {
	p.signal("pg_terminate_backend", name)
	p.until(fmt.Sprintf("select not exists (select from pg_stat_activity where pid = %d)", p.session(name).pid))
}

var pidRef = regexp.MustCompile(`\$PID\((\w+)\)`)

func (p *player) fill(sql string) string {
	return pidRef.ReplaceAllStringFunc(sql, func(m string) string {
		return strconv.Itoa(p.session(pidRef.FindStringSubmatch(m)[1]).pid)
	})
}

func (p *player) until(sql string) {
	p.t.Helper()
	sql = p.fill(sql)
	for deadline := time.Now().Add(2 * patience); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		var ok *bool
		err := p.mon.QueryRow(p.t.Context(), sql).Scan(&ok)
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			p.t.Fatalf("until %s: %v", sql, err)
		}
		if ok != nil && *ok {
			return
		}
	}
	p.t.Errorf("never came: %s", sql)
}

// startStandby copies a running server's files, between backup start and stop,
// over those of a second one.
func startStandby(life, t *testing.T, in pgserver.Install, primary *pgserver.Server) *pgserver.Server {
	t.Helper()
	s := pgtest.Start(life, in, pgserver.Options{Settings: settings()})
	if err := s.Shutdown(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	c := pgtest.Connect(t, primary.DSN("postgres", "postgres"))
	start, stop := "pg_backup_start('scen', true)", "pg_backup_stop(false)"
	if in.Major < 15 {
		start, stop = "pg_start_backup('scen', true, false)", "pg_stop_backup(false, false)"
	}
	if _, err := c.Exec(t.Context(), "select "+start); err != nil {
		t.Fatal(err)
	}
	from, to := filepath.Join(primary.Dir(), "data"), filepath.Join(s.Dir(), "data")
	owner := ownerOf(t, to)
	if err := os.RemoveAll(to); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), "cp", "-a", from, to).CombinedOutput(); err != nil && !strings.Contains(string(out), "No such file") {
		t.Fatalf("copying: %v\n%s", err, out)
	}
	var label string
	if err := c.QueryRow(t.Context(), "select labelfile from "+stop).Scan(&label); err != nil {
		t.Fatal(err)
	}
	cfg := c.Config()
	write := func(name, text string) {
		f := filepath.Join(to, name)
		old, _ := os.ReadFile(f)
		if err := os.WriteFile(f, append(old, text...), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(f, owner, -1); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []string{"postmaster.pid", "postmaster.opts"} {
		_ = os.Remove(filepath.Join(to, f))
	}
	write("backup_label", label)
	write("standby.signal", "")
	write("postgresql.auto.conf", fmt.Sprintf("\nprimary_conninfo = 'host=%s port=%d user=postgres'\n", cfg.Host, cfg.Port))
	if err := s.Restart(t.Context()); err != nil {
		t.Fatalf("standby: %v\n%s", err, s.Log())
	}
	return s
}

func ownerOf(t *testing.T, path string) int {
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return int(st.Sys().(*syscall.Stat_t).Uid)
}

// caughtUp waits until the standby has replayed what the primary has written.
func (p *player) caughtUp() {
	prim := pgtest.Connect(p.t, p.srv.DSN("postgres", "postgres"))
	var lsn string
	if err := prim.QueryRow(p.t.Context(), "select pg_current_wal_flush_lsn()::text").Scan(&lsn); err != nil {
		p.t.Fatal(err)
	}
	c := pgtest.Connect(p.t, p.standby.DSN("postgres", "postgres"))
	for range 500 {
		var ok bool
		if err := c.QueryRow(p.t.Context(), "select pg_last_wal_replay_lsn() >= $1::text::pg_lsn", lsn).Scan(&ok); err != nil {
			p.t.Fatal(err)
		}
		if ok {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	p.t.Fatalf("the standby never caught up\n%s", p.standby.Log())
}
