//go:build unix

package main

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/bouncer"
	"github.com/pgsonde/pgsonde/probes/bouncer/bouncertest"
	"github.com/pgsonde/pgsonde/probes/budget"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// TestInitTakesLimitsOfDatabases: what a real console says of each database is in
// the draft.
func TestInitTakesLimitsOfDatabases(t *testing.T) {
	t.Parallel()
	bouncertest.Need(t)
	srv := pgtest.Start(t, pgtest.Any(t), pgserver.Options{})
	pgtest.Exec(t, srv.DSN("postgres", "postgres"), "create role app login")
	p := bouncertest.Start(t, srv.DSN("postgres", "postgres"), bouncertest.Options{
		Databases: map[string]string{
			"shop": "dbname=postgres pool_size=4 reserve_pool=1 max_db_connections=5", "log": "dbname=postgres", "later": "dbname=postgres",
		},
		Users: map[string]string{"app": ""}, Settings: map[string]string{"default_pool_size": "3"},
	})
	for _, db := range []string{"shop", "log"} {
		c, err := pgconn.Connect(t.Context(), p.DSN("app", db))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close(context.Background()) })
	}
	var out, errs strings.Builder
	code := run(t.Context(), []string{"budget", "init", "-", srv.DSN("postgres", "postgres"), "--watch", "100ms", "--pooler", "pgb=" + p.Console()}, strings.NewReader(""), &out, &errs)
	if code != exitOK {
		t.Fatalf("got status %d: %s", code, errs.String())
	}
	for _, want := range []string{`"shop@app": { size: 4, reserve: 1 }`, `"log@app": { size: 3 }`, "max_db_connections: { shop: 5 }", "pgb: no pool yet of database later"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	f, err := budget.Parse("draft.yaml", []byte(out.String()))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := budget.WhatIf(f, probes.Limits{}, nil, nil)
	if err != nil || len(sum.Poolers) != 1 || sum.Poolers[0].Cap != 8 {
		t.Errorf("got %+v, %v, want 5 of shop and 3 of log", sum.Poolers, err)
	}
}

// TestInitLeavesOtherServersOut: pools on another server are no part of this one's
// budget, nor are their clients; which it is the target says.
func TestInitLeavesOtherServersOut(t *testing.T) {
	r := &bouncer.Reading{
		Databases: []bouncer.Database{{Name: "shop", Host: "db1", Port: 5432, PoolSize: 2}, {Name: "far", Host: "db2", Port: 5432, PoolSize: 2}},
		Pools:     []bouncer.Pool{{Database: "shop", User: "app"}, {Database: "far", User: "app"}},
		Clients:   []bouncer.Socket{{Database: "shop", User: "app", State: "active"}, {Database: "far", User: "app", State: "active"}},
	}
	told := []bouncer.Told{{Spec: bouncer.PoolerSpec{Name: "pgb", Instances: 1}, Instances: []bouncer.Instance{{Reading: r}}}}
	look := func(target string) budget.SeenPooler {
		w := sighting{peaks: map[string]int{}, consoles: []bouncer.Declared{{}}}
		w.add(&probes.Snapshot{Server: probes.Server{Target: target}}, told)
		return w.poolers[0]
	}
	p := look("db1:5432/shop")
	if len(p.Pools) != 1 || p.Pools[0].Database != "shop" || !slices.Equal(p.Elsewhere["db2:5432"], []string{"far@app"}) || len(p.Clients) != 1 || p.Unsure != nil {
		t.Errorf("got %+v, want far on db2 left out with its client", p)
	}
	p = look("10.0.0.1:5432/shop")
	if len(p.Pools) != 2 || len(p.Clients) != 2 || !slices.Equal(p.Unsure, []string{"db1:5432", "db2:5432"}) {
		t.Errorf("got %+v, want both, and that it is not known", p)
	}
}
