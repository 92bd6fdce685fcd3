package probes

import (
	"strings"
	"time"
)

// Audit is the record of one attempt to end a session: when, who, what, whom, and
// what came of it.
type Audit struct {
	At     time.Time // the server's clock, ours when it did not answer
	Verb   string    // cancel or terminate
	Target string    // backend id, PID@BACKEND_START
	Role   string    // the budget's, "" none
	App    string
	State  string // or the kind of a backend that is no client's
	User   string // who did it: the login
	Result string
}

// NewAudit starts the record of an attempt on x. What is no client's session has
// its kind in place of a role and a state.
func NewAudit(verb string, x *Session, role, user string) Audit {
	a := Audit{Verb: verb, Target: x.BackendID(), Role: role, App: x.App, State: x.State, User: user}
	if x.Kind != KindClient && x.Kind != KindMasked {
		a.Role, a.State = "", x.Kind
	}
	return a
}

// Done is the record with the time and the result.
func (a Audit) Done(at time.Time, result string) Audit {
	a.At, a.Result = at, result
	return a
}

// String is the record in one line:
//
//	2026-01-02T15:04:05.678Z terminate 4711@1767366245000000 (role api, application werft:api/1, idle in transaction) by ops: sent
func (a Audit) String() string {
	var facts []string
	for _, f := range []struct{ what, value string }{{"role ", a.Role}, {"application ", a.App}, {"", a.State}} {
		if f.value != "" {
			facts = append(facts, f.what+f.value)
		}
	}
	s := a.At.UTC().Format("2006-01-02T15:04:05.000Z07:00") + " " + a.Verb + " " + a.Target
	if len(facts) > 0 {
		s += " (" + strings.Join(facts, ", ") + ")"
	}
	if a.User != "" {
		s += " by " + a.User
	}
	return s + ": " + a.Result
}
