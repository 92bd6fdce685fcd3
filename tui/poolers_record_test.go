//go:build unix

package tui

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/bouncer"
	"github.com/pgsonde/pgsonde/probes/bouncer/bouncertest"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// pooledStage is a server with two PgBouncers in front.
type pooledStage struct {
	t       *testing.T
	srv     *pgserver.Server
	poolers []*bouncertest.Pooler
	sampler *probes.Sampler
	fleet   *bouncer.Fleet
}

func newPooledStage(t *testing.T, spec bouncer.PoolerSpec) *pooledStage {
	t.Helper()
	bouncertest.Need(t)
	s := &pooledStage{t: t, srv: pgtest.Start(t, pgtest.Any(t), pgserver.Options{Settings: map[string]string{"max_connections": "30"}})}
	pgtest.Exec(t, s.srv.DSN("postgres", "postgres"), "create role app login", "create role report login",
		"create table item (id int primary key, n int)", "insert into item values (1, 0), (2, 0)", "grant all on item to app, report")
	d := bouncer.Declared{Spec: spec}
	for range 2 {
		p := bouncertest.Start(t, s.srv.DSN("postgres", "postgres"), bouncertest.Options{
			Databases: map[string]string{"shop": "dbname=postgres"}, Users: map[string]string{"app": "", "report": ""},
			Settings: map[string]string{"default_pool_size": "3", "max_client_conn": "20"},
		})
		s.poolers = append(s.poolers, p)
		d.Consoles = append(d.Consoles, bouncer.Options{DSN: p.Console()})
	}
	var err error
	if s.fleet, err = bouncer.NewFleet([]bouncer.Declared{d}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.fleet.Close)
	if s.sampler, err = probes.Open(t.Context(), probes.Options{DSN: s.srv.DSN("postgres", "postgres")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.sampler.Close)
	return s
}

// client runs sql through a pooler and stays connected; what is last is left
// waiting when wait is set.
func (s *pooledStage) client(i int, user, app string, wait bool, sql ...string) {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	dsn := s.poolers[i].DSN(user, "shop") + " application_name=" + app
	run := func() error {
		c, err := pgconn.Connect(ctx, dsn)
		if err != nil {
			return err
		}
		context.AfterFunc(ctx, func() { c.Conn().Close() })
		for _, q := range sql {
			if _, err := c.Exec(ctx, q).ReadAll(); err != nil {
				return err
			}
		}
		return nil
	}
	done := make(chan error, 1)
	s.t.Cleanup(func() {
		cancel()
		if wait {
			<-done
		}
	})
	if wait {
		go func() { done <- run() }()
		return
	}
	if err := run(); err != nil {
		s.t.Fatal(err)
	}
}

// direct is a session that does not go through a pooler.
func (s *pooledStage) direct(user, app string, sql ...string) {
	s.t.Helper()
	c, err := s.srv.Open(s.t.Context(), pgserver.ConnOptions{User: user, AppName: app})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.Close)
	for _, q := range sql {
		if err := c.Exec(s.t.Context(), q); err != nil {
			s.t.Fatal(err)
		}
	}
}

// incident fills one pool behind a lock, strands an advisory lock, and pauses
// the other pooler.
func (s *pooledStage) incident() {
	s.client(0, "report", "werft:report", false, "select pg_advisory_lock(4711)")
	s.direct("postgres", "werft:migrate", "begin", "lock table item in access exclusive mode")
	s.client(0, "app", "werft:api", false, "begin", "select 1")
	s.client(0, "app", "werft:api", true, "update item set n = 1 where id = 1")
	s.client(0, "app", "werft:worker", true, "select n from item where id = 2")
	time.Sleep(200 * time.Millisecond)
	for range 3 {
		s.client(0, "app", "werft:web", true, "select 1")
	}
	s.client(1, "app", "werft:api", false, "select 1")
	if err := s.poolers[1].Admin(s.t.Context(), "PAUSE shop"); err != nil {
		s.t.Fatal(err)
	}
	s.client(1, "app", "werft:web", true, "select 1")
}

// moment reads everything once.
func (s *pooledStage) moment() poolMoment {
	s.t.Helper()
	var m poolMoment
	var err error
	if m.Snapshot, err = s.sampler.Tick(s.t.Context(), probes.Want{Sessions: true, QueryBytes: lineBytes}); err != nil {
		s.t.Fatal(err)
	}
	for _, t := range s.fleet.Read(s.t.Context()) {
		told := toldMoment{Spec: t.Spec}
		for _, in := range t.Instances {
			x := instanceMoment{Target: in.Target, Reading: in.Reading}
			if in.Err != nil {
				x.Err = in.Err.Error()
			}
			told.Instances = append(told.Instances, x)
		}
		m.Told = append(m.Told, told)
	}
	rows, err := s.sampler.Work(s.t.Context(), time.Second, bouncer.AdvisoryStatement)
	if err != nil {
		s.t.Fatal(err)
	}
	m.Advisory = bouncer.AdvisoryLocks(rows)
	return m
}

// TestRecordPoolers writes testdata/poolers.json: at rest, in the incident, and
// after the second pooler went away.
func TestRecordPoolers(t *testing.T) {
	if !*record {
		t.Skip("go test ./tui -run RecordPoolers -record makes the recording anew")
	}
	s := newPooledStage(t, bouncer.PoolerSpec{Name: "pgb", Mode: "transaction", Instances: 2, MaxClientConn: 20})
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	write := func() {
		if err := enc.Encode(s.moment()); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 2 {
		s.client(i, "app", "werft:api", false, "select 1")
	}
	time.Sleep(time.Second)
	write()
	s.incident()
	time.Sleep(6 * time.Second)
	write()
	s.poolers[1].Stop()
	time.Sleep(time.Second)
	write()
	text := out.Bytes()
	for i, dir := range hosts(s) { // first, for they are inside the server's folder
		text = bytes.ReplaceAll(text, []byte(dir), fmt.Appendf(nil, "/run/pgbouncer%d", i+1))
	}
	text = bytes.ReplaceAll(text, []byte(s.srv.Dir()), []byte("/run/postgresql"))
	if err := os.WriteFile("testdata/poolers.json", text, 0o644); err != nil {
		t.Fatal(err)
	}
}

func hosts(s *pooledStage) []string {
	var out []string
	for _, p := range s.poolers {
		cfg, err := pgconn.ParseConfig(p.Console())
		if err != nil {
			s.t.Fatal(err)
		}
		out = append(out, cfg.Host)
	}
	return out
}
