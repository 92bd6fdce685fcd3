package budget

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestParseErrors(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"unknown key in a role", "roles:\n  api:\n    pool: 3\n    replica: 2\n", `pgsonde.yaml:4: unknown key "replica" in role api; did you mean "replicas"?`},
		{"unknown section", "role: {}\n", `pgsonde.yaml:1: unknown key "role" in the budget; did you mean "roles"?`},
		{"unknown server key", "server: { max_conn: 3 }\n", `unknown key "max_conn" in server`},
		{"several at once", "rolez: 1\nkeep_freee: 2\n", "pgsonde.yaml:1: unknown key \"rolez\" in the budget; did you mean \"roles\"? Known: keep_free, match, poolers, roles, scenarios, server, settings\npgsonde.yaml:2:"},
		{"key twice", "keep_free: 1\nkeep_free: 2\n", `pgsonde.yaml:2: "keep_free" twice in the budget`},
		{"role twice", "roles:\n  a: { pool: 1 }\n  a: { pool: 2 }\n", `pgsonde.yaml:3: "a" twice in roles`},
		{"not a mapping", "- a\n- b\n", "pgsonde.yaml:1: the budget must be a mapping"},
		{"role not a mapping", "roles:\n  a: 10\n", "pgsonde.yaml:2: role a must be a mapping"},
		{"broken YAML", "roles: {a: {pool: [}\n", "pgsonde.yaml:1: not YAML: "},
		{"tab", "roles:\n\ta: 1\n", "pgsonde.yaml:2: not YAML: "},
		{"two documents", "keep_free: 1\n---\nkeep_free: 2\n", "a second document"},
		{"negative", "keep_free: -1\n", "keep_free is -1; the least is 0"},
		{"fraction", "keep_free: 1.5\n", `keep_free is "1.5"; it must be a whole number`},
		{"huge", "server: { max_connections: 1e9 }\n", "it must be a whole number"},
		{"huge digits", "server: { max_connections: 9999999999999999999999 }\n", "the most is 262143"},
		{"zero connections", "server: { max_connections: 0 }\n", "the least is 1"},
		{"keeps more than it has", "server: { max_connections: 3, reserved: 2 }\n", "keeps 5 slots, more than the 3 it has"},
		{"capture without role", "match: werft\n", "must say where the role's name stands"},
		{"role not ASCII", "roles:\n  ключ: { pool: 1 }\n", "only printable ASCII"},
		{"capture not ASCII", "match: \"wärft:{role}\"\n", "only printable ASCII"},
		{"bad regexp", "roles: { a: { pool: 1, match: \"~(\" } }\n", "missing closing"},
		{"same match", "roles:\n  a: { pool: 1, match: x }\n  b: { pool: 1, match: x }\n", "pgsonde.yaml:3: roles a and b have the same match (app=x)"},
		{"same match by fields", "roles:\n  a: { pool: 1, match: {db: d, user: u} }\n  b: { pool: 1, match: {user: u, db: d} }\n", "roles a and b have the same match"},
		{"match of another's name", "match: \"w:{role}\"\nroles:\n  a: { pool: 1 }\n  b: { pool: 1, also: \"w:a\" }\n", "roles a and b have the same match"},
		{"empty match", "roles:\n  a: { pool: 1, match: {} }\n", "it would fit everything"},
		{"null match", "roles:\n  a: { pool: 1, match: }\n", "it would fit nothing"},
		{"match key", "roles:\n  a: { pool: 1, match: {usr: x} }\n", `did you mean "user"?`},
		{"bad address", "roles:\n  a: { pool: 1, match: {addr: 10.9.0.0/40} }\n", "is no address"},
		{"via nowhere", "poolers: { pgb: { pools: { a@b: {} } } }\nroles:\n  a: { pool: 1, via: pgbb }\n", `pgsonde.yaml:3: role a goes via "pgbb", which is no pooler of this file; did you mean "pgb"?`},
		{"pooler without pools", "poolers:\n  pgb: {}\n", "pgsonde.yaml:2: pooler pgb has no pools"},
		{"pool name", "poolers:\n  pgb: { pools: { app: {} } }\n", "must be named database@user"},
		{"pooler mode", "poolers:\n  pgb: { mode: transactions, pools: { a@b: {} } }\n", `did you mean "transaction"?`},
		{"pooler kind", "poolers:\n  pgb: { kind: pgbounce }\n", `did you mean "pgbouncer"?`},
		{"role is pooler", "poolers: { a: { pools: { a@b: {} } } }\nroles:\n  a: { pool: 1 }\n", "both a role and a pooler"},
		{"runs", "roles: { a: { pool: 1, runs: allways } }\n", `did you mean "always"?`},
		{"expect", "roles: { a: { pool: 1, expect: advisry } }\n", `did you mean "advisory"?`},
		{"word of the format", "roles: { surge: { pool: 1 } }\n", `"surge" is a word of the format`},
		{"name with a comma", "roles: { \"a,b\": { pool: 1 } }\n", "none of , ="},
		{"settings of nobody", "roles: { api: { pool: 1 } }\nsettings:\n  apy: { deadline: 3s }\n", `pgsonde.yaml:3: settings for "apy", which is no role of this file; did you mean "api"?`},
		{"time without unit", "settings:\n  default: { deadline: 30 }\n", "write a time with its unit"},
		{"time with a wrong unit", "settings:\n  default: { deadline: 30 parsecs }\n", "write a time with its unit"},
		{"settings key", "settings:\n  default: { statement_timout: 3s }\n", `did you mean "statement_timeout"?`},
		{"scenario of no role", "roles: { api: { pool: 1 } }\nscenarios:\n  more: [apy+1]\n", `pgsonde.yaml:3: scenario "more": no role "apy" in this file; did you mean "api"?`},
		{"scenario of no size", "roles: { api: { pool: 1 } }\nscenarios:\n  more: [api.pol=3]\n", `did you mean "pool"?`},
		{"scenario below zero", "roles: { api: { pool: 1 } }\nscenarios:\n  less: [api-2]\n", "leaves -1 replicas of api"},
		{"scenario of nothing", "roles: { api: { pool: 1 } }\nscenarios:\n  idle: []\n", `pgsonde.yaml:3: scenario "idle" changes nothing`},
		{"concurrency of what always runs", "roles:\n  a: { pool: 1, concurrency: 3 }\n", "pgsonde.yaml:2: role a: concurrency is how many of a job run at once (runs: job, or manual); what always runs has replicas"},
		{"surge of a job", "roles:\n  a: { pool: 1, runs: job, surge: 1 }\n", "pgsonde.yaml:2: role a: surge is the extra replicas of a deploy"},
		{"surge of what is started by hand", "roles:\n  a: { pool: 1, runs: manual, surge: 25% }\n", "pgsonde.yaml:2: role a: surge is"},
		{"surge of a job that is off", "roles:\n  a: { pool: 1, runs: off, group: g, surge: 1 }\n", "pgsonde.yaml:2: role a: surge is"},
		{"group of what is started by hand", "roles:\n  a: { pool: 1, runs: manual, group: g }\n", "pgsonde.yaml:2: role a: a group is for jobs"},
		{"threads beside a pool", "roles:\n  a: { kind: sqlalchemy, threads: 3 }\n", "pgsonde.yaml:2: role a: threads has no effect without null_pool"},
		{"a pool size without a pool", "roles:\n  a: { kind: sqlalchemy, null_pool: on, threads: 3, pool_size: 2 }\n", "role a: pool_size has no effect with null_pool"},
		{"CPUs beside the size", "roles:\n  a: { kind: pgxpool, cpus: 3, max: 2 }\n", "role a: cpus has no effect beside the size"},
		{"a least that is not kept", "roles:\n  a: { kind: deadpool, max: 3, min: 2 }\n", "role a: min has no effect on deadpool"},
		{"cron without workers", "roles:\n  a: { kind: odoo, cron: 3 }\n", "role a: cron has no effect without workers"},
		{"a concurrency by scenario", "roles: { a: { pool: 1 } }\nscenarios:\n  x: [a.concurrency=3]\n", "scenario \"x\": a.concurrency: a runs always; concurrency is"},
		{"a surge by scenario", "roles: { a: { pool: 1, runs: job } }\nscenarios:\n  x: [a.surge=3]\n", "scenario \"x\": a.surge: a runs job; surge is"},
		{"a mapping for a size", "roles:\n  a: { pool: { x: 1 } }\n", "pgsonde.yaml:2: role a: pool must be a whole number; it is a mapping"},
		{"a list for a size", "roles:\n  a: { pool: [1] }\n", "pgsonde.yaml:2: role a: pool must be a whole number; it is a list"},
		{"nothing for a size", "roles:\n  a: { pool: }\n", "pgsonde.yaml:2: role a: pool must be a whole number; it has no value"},
		{"a word for a size", "roles:\n  a: { pool: ten }\n", `pgsonde.yaml:2: role a: pool is "ten"; it must be a whole number`},
		{"nothing for a number", "roles:\n  a: { pool: 1, replicas: }\n", "pgsonde.yaml:2: role a: replicas must be a whole number; it has no value"},
		{"a list for a surge", "roles:\n  a: { pool: 1, surge: [1] }\n", "surge must be a whole number, or a percentage of the replicas: 1, 25%; it is a list"},
		{"half a percentage", "roles:\n  a: { pool: 1, surge: 2.5% }\n", `surge is "2.5%"; it must be a whole number, or a percentage`},
		{"a list for a flag", "roles:\n  a: { kind: sqlalchemy, null_pool: [] }\n", "null_pool must be on or off; it is a list"},
		{"a list for a time", "settings:\n  default: { deadline: [] }\n", "deadline must be a time with its unit: 300ms, 5s, 10min, 2h; it is a list"},
		{"a word for a role", "roles:\n  a: pool\n", `role a must be a mapping: { key: value, … }; it is "pool"`},
		{"an unknown key, far from all", "roles:\n  a: { pool: 1, zzzzzzzzz: 2 }\n", `unknown key "zzzzzzzzz" in role a; known: also, concurrency, expect, extra, group, kind, match, max, min, pool, processes, replicas, runs, surge, via`},
		{"an unknown key, near one", "roles:\n  a: { pool: 1, replica: 2 }\n", `in role a; did you mean "replicas"? Known: also, concurrency,`},
		{"an unknown setting", "settings:\n  default: { statement_timout: 3s }\n", `did you mean "statement_timeout"? Known: client_timeout, connect_wait,`},
		{"an unknown pooler key", "poolers:\n  p: { size: 3 }\n", `known: console, default_pool_size, instances,`},
		{"leading zero", "roles:\n  a: { pool: 010 }\n", `pgsonde.yaml:2: role a: pool is "010"; write it without leading zeros`},
		{"group of another role", "roles:\n  a: { pool: 1, runs: job, group: b }\n  b: { pool: 1, runs: job, group: a }\n", `pgsonde.yaml:2: role a: group "b" is the name of another role`},
		{"scenario base", "scenarios: { base: [] }\n", "cannot be named"},
		{"too many roles", "roles:\n" + numbered("  r%d: { pool: 1 }\n", 501), "pgsonde.yaml:502: more than 500 roles"},
		{"too many scenarios", "roles: { r: { pool: 1 } }\nscenarios:\n" + numbered("  s%d: [r+1]\n", 501), "pgsonde.yaml:503: more than 500 scenarios"},
		{"self alias", "a: &a [*a]\n", "nested more than 16 deep"},
		{"deep", strings.Repeat("[", 5000) + strings.Repeat("]", 5000), "nested more than 16 deep"},
		{"very deep", strings.Repeat("[", 50000), "not YAML"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse("pgsonde.yaml", []byte(tt.text))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("got %v, want …%s…", err, tt.want)
			}
			var fe *FileError
			if !errors.As(err, &fe) || fe.Line == 0 || fe.File != "pgsonde.yaml" {
				t.Errorf("%#v is no *FileError with file and line", fe)
			}
		})
	}
}

// TestAliasBomb: a file of 400 bytes that means 10^9 values is refused at once.
func TestAliasBomb(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 9; i++ {
		p, n := string(rune('0'+i-1)), string(rune('0'+i))
		b.WriteString("a" + n + ": &a" + n + " [" + strings.TrimSuffix(strings.Repeat("*a"+p+", ", 10), ", ") + "]\n")
	}
	start := time.Now()
	_, err := Parse("bomb.yaml", []byte(b.String()))
	if err == nil || !strings.Contains(err.Error(), "too large: more than 20000 values") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %s", took)
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	if _, err := Load(filepath.Join(dir, "none.yaml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v, want fs.ErrNotExist", err)
	}
	if _, err := Load(dir); err == nil {
		t.Error("a folder loads")
	}
	big := filepath.Join(dir, "big.yaml")
	if err := os.WriteFile(big, []byte(strings.Repeat("# filler\n", 250_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	var fe *FileError
	if _, err := Load(big); !errors.As(err, &fe) || !strings.Contains(err.Error(), "larger than 1 MB") {
		t.Errorf("2 MB file: %v", err)
	}
}

func TestParseWords(t *testing.T) {
	for text, want := range map[string]Runs{
		"on": RunsAlways, "true": RunsAlways, "yes": RunsAlways, "always": RunsAlways, "ON": RunsAlways,
		"off": RunsOff, "false": RunsOff, "no": RunsOff, `"off"`: RunsOff, "job": RunsJob, "manual": RunsManual,
	} {
		f := mustParse(t, "roles: { a: { pool: 1, runs: "+text+" } }")
		if got := f.Roles[0].Runs; got != want {
			t.Errorf("runs: %s is %s, want %s", text, got, want)
		}
	}
}

func TestParseEmptyAndMerge(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "roles:\n", "{}"} {
		if f := mustParse(t, text); len(f.Roles) != 0 || f.KeepFree != 3 || f.Server.MaxConnections != 100 {
			t.Errorf("%q: %+v", text, f)
		}
	}
	f := mustParse(t, `
roles:
  a: &base { pool: 7, replicas: 2 }
  b: { <<: *base, replicas: 3 }
`)
	if b := f.Role("b"); b.Params["pool"] != 7 || b.Replicas != 3 {
		t.Errorf("merged role %+v, want pool 7 replicas 3", b)
	}
}

func TestContract(t *testing.T) {
	f := mustLoad(t, "werft-helm.yaml")
	got := f.Contract("migrate")
	if got.ConnectWait != 5*time.Second || got.StatementTimeout != 300*time.Second || got.Deadline != 10*time.Minute || got.IdleInTransaction != 30*time.Second {
		t.Errorf("migrate: %+v", got)
	}
	var none *File
	if none.Contract("x").Deadline != 0 || none.Role("x") != nil || none.Pooler("x") != nil {
		t.Error("a nil file promises something")
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range []string{"werft-helm.yaml", "dstack.yaml", "danish.yaml", "danish-pgbouncer.yaml", "mixed.yaml"} {
		data, err := os.ReadFile("testdata/" + name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Fuzz(func(t *testing.T, text string) {
		file, err := Parse("fuzz.yaml", []byte(text))
		if err != nil {
			return
		}
		if _, err := Plan(file, Scenario{}); err != nil {
			t.Errorf("parses but does not plan: %v", err)
		}
	})
}

// numbered repeats a line with its number.
func numbered(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// TestManyMistakes: each has its line, up to 20, and the others are counted.
func TestManyMistakes(t *testing.T) {
	for _, tt := range []struct {
		n    int
		last string
	}{{3, "bad.yaml:3: "}, {20, "bad.yaml:20: "}, {21, "and 1 more error"}, {50, "and 30 more errors"}} {
		_, err := Parse("bad.yaml", []byte(numbered("k%d: 1\n", tt.n)))
		lines := strings.Split(err.Error(), "\n")
		if last := lines[len(lines)-1]; len(lines) != min(tt.n, 21) || !strings.HasPrefix(last, tt.last) {
			t.Errorf("%d mistakes: %d lines, the last %q, want %q", tt.n, len(lines), last, tt.last)
		}
	}
}
