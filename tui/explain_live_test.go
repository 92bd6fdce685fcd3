package tui

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/explain"
	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// lentExplainer explains over the place that a live source lends.
type lentExplainer struct {
	loan *probes.Loan
	r    *explain.Runner
}

func openLent(ctx context.Context, src Source) (Explainer, error) {
	loan, err := src.(*probes.Sampler).Lend(ctx)
	if err != nil {
		return nil, err
	}
	r, err := explain.OpenConfig(ctx, loan.Config, explain.RunnerOptions{})
	if err != nil {
		loan.Return()
		return nil, err
	}
	return &lentExplainer{loan, r}, nil
}

func (x *lentExplainer) Statements(ctx context.Context, limit int) (explain.Listing, error) {
	return explain.Statements(ctx, x.r, limit)
}

func (x *lentExplainer) Judge(ctx context.Context, in explain.Input, o explain.Options) *explain.Result {
	return explain.Judge(ctx, x.r, in, o)
}

func (x *lentExplainer) Close() {
	_ = x.r.Close(context.Background())
	x.loan.Return()
}

// live runs the UI on a server.
func live(t *testing.T, dsn, screen string) *running {
	t.Helper()
	src := &replay{} // only counts; the source is the server
	return start(t, t.Context(), 120, 40, Options{
		Interval: 100 * time.Millisecond, Screen: screen, Explain: openLent,
		Open: func(ctx context.Context) (Source, error) { return probes.Open(ctx, probes.Options{DSN: dsn}) },
	}, src)
}

// TestLiveExplain finds a bad page with its fix, judges what is pasted and what a
// session runs, measures, and never has more than two connections.
func TestLiveExplain(t *testing.T) {
	dsn, srv := pagingServer(t, "100000")
	pgtest.Exec(t, srv.DSN("postgres", "postgres"), "ALTER ROLE sonde CONNECTION LIMIT 2")
	idle := pgtest.Connect(t, srv.DSN("werft", "postgres")+" application_name=shop")
	if _, err := idle.Exec(t.Context(), "SELECT id FROM event WHERE (created_at, id) > (timestamptz '2026-01-04', 7) ORDER BY created_at, id LIMIT 5"); err != nil {
		t.Fatal(err)
	}
	begin := time.Now()
	r := live(t, dsn, "Explain")
	r.until("+ WHERE (created_at, id) > ($1, $2)")
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("the bad page and its fix took %v", took)
	}
	r.until("own 2")
	r.typeKeys("\r")
	r.until("after the fix")
	r.typeKeys("a")
	r.until("y do it")
	r.typeKeys("y")
	r.until("before, cursor at")
	r.until("after, cursor at")
	r.typeKeys("q")
	r.until("bad page")
	r.typeKeys("\x1b[200~select id from event where id > 5\nor id = 5 order by id limit 3;\nselect nope from event\x1b[201~")
	r.until("nothing is executed")
	r.typeKeys("\r")
	r.until("pasted 1.1")
	r.until("add bound, proved")
	r.typeKeys("q")
	r.until("pasted 1.2")
	r.typeKeys("4")
	r.until("waits for")
	r.typeKeys("/")
	r.typeKeys("timestamptz")
	r.typeKeys("\r")
	r.until("1/")
	r.typeKeys("x")
	r.until("> pid ")
	r.until("starts at cursor")
	r.typeKeys("\x03")
	if err := r.ended(); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

func TestLiveExplainWithoutTheExtension(t *testing.T) {
	srv := pgtest.Start(t, pgtest.Any(t), pgserver.Options{})
	pgtest.Exec(t, srv.DSN("postgres", "postgres"), "CREATE ROLE sonde LOGIN")
	r := live(t, srv.DSN("sonde", "postgres"), "explain")
	r.until("pg_stat_statements is not installed in this database")
	if s := r.term.screen(); strings.Contains(s, "!") {
		t.Errorf("a missing extension is no alarm:\n%s", s)
	}
	r.typeKeys("e")
	r.until("nothing is executed")
	r.typeKeys("select count(*) from pg_class")
	r.typeKeys("\r")
	r.until("pasted 1")
	r.until("Aggregate")
	r.typeKeys("\x03")
	if err := r.ended(); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

func TestLiveSuperuserIsToldOnce(t *testing.T) {
	_, srv := pagingServer(t, "5000")
	r := live(t, srv.DSN("postgres", "postgres"), "explain")
	r.until("~ postgres is a superuser and the text is not your own")
	r.typeKeys("\x03")
	if err := r.ended(); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}
