package schema

import "testing"

func TestParseRows(t *testing.T) {
	for _, tt := range []struct {
		text  string
		table string
		n     float64
		bad   bool
	}{
		{text: "orders=1000000", table: "orders", n: 1e6},
		{text: "shop.orders=1_000_000", table: "shop.orders", n: 1e6},
		{text: "orders=1.5M", table: "orders", n: 1.5e6},
		{text: "2k", n: 2000},
		{text: "orders=0", table: "orders"},
		{text: "a=b=1G", table: "a=b", n: 1e9},
		{text: "=1", bad: true},
		{text: "orders=", bad: true},
		{text: "orders=-1", bad: true},
		{text: "orders=many", bad: true},
		{text: "orders=0.5", bad: true},
		{text: "orders=NaN", bad: true},
		{text: "orders=1e300", bad: true},
		{text: "", bad: true},
	} {
		t.Run(tt.text, func(t *testing.T) {
			got, err := ParseRows(tt.text)
			if (err != nil) != tt.bad {
				t.Fatalf("got error %v, want one: %v", err, tt.bad)
			}
			if err == nil && got != (Rows{Table: tt.table, N: tt.n}) {
				t.Errorf("got %+v, want %s=%g", got, tt.table, tt.n)
			}
		})
	}
}

func TestKindOf(t *testing.T) {
	for _, tt := range []struct {
		sql  string
		want kind
	}{
		{"CREATE TABLE owner (a int)", object},
		{"ALTER TABLE t ADD COLUMN owner text", object},
		{"ALTER TABLE t RENAME COLUMN owner TO holder", object},
		{"ALTER TABLE public.t OWNER TO x", ownership},
		{"alter function f(a int, b text) owner to x", ownership},
		{"SET search_path = a", setting},
		{"SET LOCAL ROLE x", ownership},
		{"SET SESSION AUTHORIZATION x", ownership},
		{"RESET SESSION AUTHORIZATION", ownership},
		{"SET SESSION statement_timeout = 0", setting},
		{"/* c */ CREATE EXTENSION x", extension},
		{"CREATE USER MAPPING FOR x SERVER y", object},
		{"CREATE USER x", ownership},
		{"COPY t FROM stdin", data},
		{"COMMENT ON TABLE t IS 'x'", ignored},
		{"SELECT 1", object},
		{"", object},
	} {
		if got := kindOf(tt.sql); got != tt.want {
			t.Errorf("%s: got %d, want %d", tt.sql, got, tt.want)
		}
	}
}

func TestExtensionOf(t *testing.T) {
	for sql, want := range map[string][2]string{
		"CREATE EXTENSION hstore": {"hstore", ""},
		`CREATE EXTENSION IF NOT EXISTS "uuid-ossp" WITH SCHEMA "My Schema"`: {"uuid-ossp", "My Schema"},
		"create extension postgis schema gis version '3' cascade":            {"postgis", "gis"},
		"CREATE EXTENSION":             {"", ""},
		`CREATE EXTENSION "x""; drop"`: {`x"; drop`, ""},
	} {
		name, schema := extensionOf(sql)
		if got := [2]string{name, schema}; got != want {
			t.Errorf("%s: got %q, want %q", sql, got, want)
		}
	}
}
