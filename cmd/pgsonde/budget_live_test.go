//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/bouncer"
	"github.com/pgsonde/pgsonde/probes/budget"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
	"github.com/pgsonde/pgsonde/probes/waits"
)

// TestBudgetInitOfTheDemo: on the demo's server, from the outside: the draft adds
// up, and the server held against it is clean, but for a pod all of whose
// connections are busy, which is full by any budget.
func TestBudgetInitOfTheDemo(t *testing.T) {
	pgtest.Any(t)
	r, w := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	end := make(chan int, 1)
	go func() {
		end <- run(ctx, []string{"demo", "--headless", "--for", "10m"}, strings.NewReader(""), w, io.Discard)
		_ = w.Close()
	}()
	t.Cleanup(func() { cancel(); _ = r.Close(); <-end })
	dsn := ""
	for lines := bufio.NewScanner(r); lines.Scan(); {
		if v, ok := strings.CutPrefix(lines.Text(), "dsn="); ok {
			dsn = v
		}
		if strings.HasPrefix(lines.Text(), "budget=") {
			break
		}
	}
	if dsn == "" {
		t.Fatal("the demo gave no DSN")
	}
	draft := filepath.Join(t.TempDir(), "draft.yaml")
	must := func(args ...string) []byte {
		t.Helper()
		var out, errs bytes.Buffer
		if code := run(t.Context(), args, strings.NewReader(""), &out, &errs); code == exitError {
			t.Fatalf("%q: %s", args, errs.String())
		}
		return out.Bytes()
	}
	must("budget", "init", "--watch", "6s", draft, dsn)
	text, err := os.ReadFile(draft)
	if err != nil {
		t.Fatal(err)
	}
	var sum struct {
		Verdict  string
		Findings []probes.Finding
	}
	if err := json.Unmarshal(must("--format", "json", "budget", "check", draft), &sum); err != nil || sum.Verdict == string(budget.Over) || len(sum.Findings) > 0 && sum.Verdict == string(budget.OK) {
		t.Errorf("%v, verdict %s, findings %+v in\n%s", err, sum.Verdict, sum.Findings, text)
	}
	type role struct {
		Role     string
		Declared bool
	}
	var live struct {
		Roles    []role
		Findings []probes.Finding
	}
	if err := json.Unmarshal(must("--format", "json", "--fail-on", "never", "-b", draft, "roles", dsn), &live); err != nil {
		t.Fatal(err)
	}
	for _, f := range live.Findings {
		if f.Severity != probes.Info && f.Rule != "pod-full" && !ofWaits(f.Rule) {
			t.Errorf("%s: %s\n%s", f.Rule, f.Message, text)
		}
	}
	for _, want := range []string{"api", "scheduler", "slack", "etl@werft"} {
		if !slices.Contains(live.Roles, role{want, true}) {
			t.Errorf("role %s is not in the draft\n%s", want, text)
		}
	}
}

// ofWaits: the rule is about locks, of which no budget is the cause.
func ofWaits(rule string) bool {
	return slices.ContainsFunc(waits.Rules(), func(r waits.Rule) bool { return r.Name == rule })
}

// TestEveryCheckHasItsRule: the checks that pgsonde promises, by number, and the
// rules that make them. That each speaks on a real server or pooler, and is
// silent beside it, the packages' own tests hold.
func TestEveryCheckHasItsRule(t *testing.T) {
	var known []string
	for _, r := range budget.Rules() {
		known = append(known, r.Name)
	}
	for _, r := range waits.Rules() {
		known = append(known, r.Name)
	}
	for _, r := range bouncer.Rules() {
		known = append(known, r.Name)
	}
	for check, rules := range map[string][]string{
		"C1 steady over usable": {"steady-over-usable"}, "C2 peak over usable": {"peak-over-usable"}, "C3 peak and keep_free over usable": {"peak-low"},
		"C4 rolconnlimit below the sum": {"role-limit-low"}, "C5 datconnlimit below the sum": {"database-limit-low"},
		"C6 now over cap": {"role-over-cap"}, "C7 unmatched": {"unmatched-sessions"}, "C8 declared role absent": {"role-absent"},
		"C9 pods and replicas": {"pods-not-replicas"}, "C10 pod full": {"pod-full"}, "C11 overflow in use": {"overflow-in-use"},
		"C12 live use and keep_free over usable": {"slots-low", "slots-full"}, "C13 refused but few visible": {"slots-hidden"},
		"C14 statement over its contract": {"statement-over-contract"}, "C15 idle in transaction over its contract": {"idle-in-transaction-over-contract"},
		"C16 idle_session_timeout below the pool's": {"idle-session-timeout-below-pool"}, "C17 app is superuser": {"app-is-superuser"},
		"C18 running over CPUs": {"running-over-cpus"}, "C19 churn": {"connection-churn"}, "C20 slots pinned by locks": {waits.RulePinned},
		"C21 session advisory lock on an idle session": {"advisory-lock-stranded"}, "C22 pooler clients": {"pooler-clients-over"},
		"C23 pooler server side": {"pooler-server-over"}, "C24 waiting while the pool is not full": {"waiting-while-pool-not-full"},
		"C25 paused or disabled": {"pooler-paused", "pooler-disabled"}, "C26 ghost pods": {"ghost-backends"},
		"C27 no reserve for operators": {"no-operator-reserve"}, "C28 no free walsender": {"no-free-walsender"},
		"C29 names hidden by the URL": {"names-hidden"}, "B1 file and server": {"file-differs", "pooler-file-differs"},
	} {
		for _, rule := range rules {
			if !slices.Contains(known, rule) {
				t.Errorf("%s: no rule %s", check, rule)
			}
		}
	}
}
