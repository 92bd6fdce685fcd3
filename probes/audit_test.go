package probes

import (
	"testing"
	"time"
)

func TestAuditLine(t *testing.T) {
	at := time.Date(2026, 1, 2, 15, 4, 5, 678e6, time.UTC)
	x := Session{PID: 4711, BackendStart: time.UnixMicro(1767366245000001), Kind: KindClient, App: "werft:api/1", State: "idle in transaction"}
	launcher := Session{PID: 12, BackendStart: time.UnixMicro(5), Kind: "autovacuum launcher"}
	for _, tt := range []struct {
		a    Audit
		want string
	}{
		{
			NewAudit("terminate", &x, "api", "ops").Done(at, Result{Outcome: Sent}.String()),
			"2026-01-02T15:04:05.678Z terminate 4711@1767366245000001 (role api, application werft:api/1, idle in transaction) by ops: sent",
		},
		{
			NewAudit("cancel", &launcher, "(unmatched)", "ops").Done(at, Result{Outcome: NotPermitted, Why: "denied", Grant: "superuser"}.String()),
			"2026-01-02T15:04:05.678Z cancel 12@5 (autovacuum launcher) by ops: not permitted: denied; it needs superuser",
		},
		{
			NewAudit("cancel", &launcher, "(unmatched)", "ops").Done(at, Result{Outcome: NotPermitted, Why: WhyMissing("superuser"), Grant: "superuser"}.String()),
			"2026-01-02T15:04:05.678Z cancel 12@5 (autovacuum launcher) by ops: not permitted: it is a superuser's session, which only a superuser may end",
		},
		{Audit{Verb: "terminate", Target: "7@8"}.Done(at, "gone"), "2026-01-02T15:04:05.678Z terminate 7@8: gone"},
	} {
		if got := tt.a.String(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}
