package probes

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// fixes gives the remedy of each check that is not fine.
func fixes(t *testing.T, dsn string) map[string]string {
	t.Helper()
	d, err := Diagnose(t.Context(), Options{DSN: dsn})
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]string{}
	for _, c := range d.Checks {
		if !c.OK {
			m[c.Name] = c.Fix
		}
		if c.Detail == "" {
			t.Errorf("%s says nothing", c.Name)
		}
	}
	return m
}

// Doctor names what is missing; doing what it says makes it fine.
func TestDiagnose(t *testing.T) {
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		srv := pgtest.Start(t, in, pgserver.Options{Settings: map[string]string{"shared_preload_libraries": "pg_stat_statements"}})
		super := srv.DSN("postgres", "postgres")
		pgtest.Exec(t, super, `create role "Odd name" login`)
		odd := srv.DSN("Odd name", "postgres")
		want := map[string]string{
			"see-all-sessions":     `grant pg_monitor to "Odd name"`,
			"end-sessions":         `grant pg_signal_backend to "Odd name"`,
			"statement-statistics": "create extension pg_stat_statements",
			"query-texts":          "alter system set track_activity_query_size = 4096 (then restart)",
			"reserved-slot":        "",
		}
		if in.Major >= 16 {
			want["reserved-slot"] = `alter system set reserved_connections = 2 (then restart), grant pg_use_reserved_connections to "Odd name"`
		}
		if d := cmp.Diff(want, fixes(t, odd)); d != "" {
			t.Errorf("before (-want +got):\n%s", d)
		}

		pgtest.Exec(t, super, want["see-all-sessions"], want["end-sessions"], want["statement-statistics"],
			"alter system set track_activity_query_size = 4096")
		if in.Major >= 16 {
			pgtest.Exec(t, super, "alter system set reserved_connections = 2", `grant pg_use_reserved_connections to "Odd name"`)
		}
		if err := srv.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		want = map[string]string{}
		if in.Major < 16 {
			want["reserved-slot"] = ""
		}
		if d := cmp.Diff(want, fixes(t, odd)); d != "" {
			t.Errorf("after (-want +got):\n%s", d)
		}
		if got := fixes(t, super); got["login"] == "" {
			t.Errorf("got %v, want a plainer login than a superuser", got)
		}
	})
}
