package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/waits"
)

// endFlags are what cancel and terminate share.
type endFlags struct {
	BackendID string `arg:"" name:"backend-id" help:"PID@BACKEND_START, as locks prints it below its advice, and locks and sessions with --format json of every session as backend_id: a pid alone may be another session's by now."`
	target
	Victim *int `placeholder:"PID" help:"Only if this session still waits for it, itself or through others."`
	Force  bool `help:"Also what is no client's session: a walsender, a replication worker, a launcher, an anti-wraparound vacuum."`
}

type (
	cancelCmd    struct{ endFlags }
	terminateCmd struct{ endFlags }
)

// Run cancels the statement of a backend.
func (c *cancelCmd) Run(a *app) error { return c.end(a, "cancel", (*probes.Sampler).Cancel) }

// Run ends a backend.
func (c *terminateCmd) Run(a *app) error { return c.end(a, "terminate", (*probes.Sampler).Terminate) }

type endDocument struct {
	Schema    string   `json:"schema"`
	At        *string  `json:"at"`
	Action    string   `json:"action"`
	BackendID string   `json:"backend_id"`
	Outcome   string   `json:"outcome"`
	Why       *string  `json:"why"`
	Grant     *string  `json:"grant"`
	EndedS    *float64 `json:"ended_s"` // how long until it was gone (terminate) or ran something else (cancel); null: not yet
	// VictimWaits says whether the --victim still waits for a lock in the same
	// statement, and VictimFate what has become of it: waits.Fate. Null when there is
	// none or it is not known.
	VictimWaits *bool       `json:"victim_waits"`
	VictimFate  *waits.Fate `json:"victim_fate"`
	// Waited counts who waited for it alone and Freed those of them who ran because of
	// it. Null with --victim, when nobody waited and when it is not known.
	Waited *int `json:"waited"`
	Freed  *int `json:"freed"`

	unseen bool   // what it did was not seen to the end
	victim string // what has become of who waited, in words
}

func (c *endFlags) end(a *app, verb string, do func(*probes.Sampler, context.Context, probes.Target) (probes.Result, error)) error {
	if a.cli.ReadOnly {
		return fmt.Errorf("--read-only has no %s", verb)
	}
	t, err := c.aim()
	if err != nil {
		return err
	}
	file, s, err := a.openWithBudget(c.target)
	if err != nil {
		return err
	}
	defer s.Close()
	server, _ := s.Facts()
	audit := probes.Audit{Verb: verb, Target: c.BackendID, User: server.User}
	r := probes.Result{Outcome: probes.Gone, Why: fmt.Sprintf("no backend %d any more", t.PID)}
	seen, at, err := findBackend(a.ctx, s, t.PID)
	if err != nil {
		return withHint(err)
	}
	var victim *victimWatch
	switch {
	case seen != nil && verb == "cancel" && seen.BackendStart.Equal(t.BackendStart) && strings.HasPrefix(seen.State, "idle"):
		r = probes.Result{Outcome: probes.Refused, Why: "it runs no statement (" + seen.State + "); only terminate ends it"}
	case seen != nil:
		t.XactStart, t.QueryStart = seen.XactStart, seen.QueryStart
		if victim, err = followVictims(a.ctx, s, t, waits.Verb(verb)); err != nil {
			return withHint(err)
		}
		if seen.BackendStart.Equal(t.BackendStart) {
			audit = probes.NewAudit(verb, seen, file.RoleOf(*seen), server.User)
		}
		if r, err = do(s, a.ctx, t); err != nil {
			d := endDocument{Action: verb}
			d.watch(a.ctx, s, t, nil)
			err = fmt.Errorf("not known whether it was sent: %w; %s", err, d.seen())
			a.audit(audit.Done(time.Now(), err.Error()))
			return fmt.Errorf("%s %d: %w", verb, t.PID, err)
		}
	}
	r.At = cmp.Or(r.At, at)
	d := endDocument{Schema: "pgsonde/" + verb + "/1", At: stamp(r.At), Action: verb, BackendID: c.BackendID, Outcome: string(r.Outcome), Why: orNull(r.Why), Grant: orNull(r.Grant)}
	said := r.String()
	if r.Outcome == probes.Sent {
		if d.watch(a.ctx, s, t, victim); d.EndedS != nil {
			d.tell(victim)
		}
		said += "; " + d.effect()
	}
	if r.Outcome == probes.NotPermitted {
		said = string(r.Outcome)
	}
	a.audit(audit.Done(r.At, said))
	switch {
	case a.cli.Format == "json":
		err = a.printJSON(d)
	case r.Outcome != probes.NotPermitted && r.Outcome != probes.NotSent: // the error says it
		err = a.print(func(w io.Writer) { fmt.Fprintln(w, d.line()) })
	}
	switch {
	case err != nil:
		return err
	case r.Outcome == probes.NotPermitted:
		return fmt.Errorf("not permitted to %s %d: %s", verb, t.PID, r.Reason())
	case r.Outcome == probes.NotSent:
		return fmt.Errorf("%s %d: nothing was sent: %s", verb, t.PID, r.Reason())
	case r.Outcome != probes.Sent, d.EndedS == nil, d.VictimFate != nil && *d.VictimFate != waits.Freed:
		return errFound
	}
	return nil
}

// aim is whom the command line means, and who must still wait for it: Target.Victim
// is 0 only when that was not asked for.
func (c *endFlags) aim() (probes.Target, error) {
	pid, start, err := parseBackendID(c.BackendID)
	if err != nil {
		return probes.Target{}, err
	}
	t := probes.Target{PID: pid, BackendStart: start, Force: c.Force}
	if v := c.Victim; v != nil {
		if *v <= 0 || *v > math.MaxInt32 {
			return t, fmt.Errorf("--victim %d: a session has a pid from 1 on", *v)
		}
		t.Victim = *v
	}
	return t, nil
}

func (d endDocument) line() string {
	if d.Outcome != string(probes.Sent) {
		return fmt.Sprintf("%s %s: nothing was sent: %s", d.Action, d.BackendID, text(d.Why))
	}
	return fmt.Sprintf("%s %s: sent; %s", d.Action, d.BackendID, d.effect())
}

// effect is what the signal was seen to do.
func (d endDocument) effect() string {
	if d.victim == "" {
		return d.obeyed()
	}
	return d.obeyed() + "; " + d.victim
}

func (d endDocument) obeyed() string {
	if d.EndedS == nil && !d.unseen {
		return "not acted on yet: " + d.seen() + ", the signal is pending"
	}
	return d.seen()
}

// seen is what has become of the target, whatever the cause.
func (d endDocument) seen() string {
	switch cancel := d.Action == "cancel"; {
	case d.unseen:
		return "what became of it was not seen"
	case d.EndedS == nil && cancel:
		return fmt.Sprintf("its statement still runs after %s", endWatch)
	case d.EndedS == nil:
		return fmt.Sprintf("it is still there after %s", endWatch)
	case cancel:
		return fmt.Sprintf("its statement ended after %.1f s", *d.EndedS)
	}
	return fmt.Sprintf("it was gone after %.1f s", *d.EndedS)
}

// endWatch is how long the effect is waited for.
const endWatch = 5 * time.Second

// watch waits until the backend is gone or, after a cancel, its statement has ended,
// and notes how long that took; EndedS stays nil when it did not happen. Where
// others waited it goes on until their fate is known, for victimTime at most.
func (d *endDocument) watch(ctx context.Context, s *probes.Sampler, t probes.Target, victim *victimWatch) {
	begun := time.Now()
	for time.Since(begun) < endWatch || d.EndedS != nil {
		b, _, err := findBackend(ctx, s, t.PID)
		d.unseen = err != nil && d.EndedS == nil
		if after := time.Since(begun).Seconds(); d.EndedS == nil && err == nil && d.over(b, t) {
			d.EndedS = &after
		}
		victim.see(ctx, s, time.Since(begun))
		if d.EndedS != nil && (victim.settled() || time.Since(begun).Seconds() > *d.EndedS+victimTime.Seconds()) {
			return
		}
		select {
		case <-ctx.Done():
			d.unseen = d.EndedS == nil
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// over says whether the target, as it is read now, has obeyed.
func (d *endDocument) over(b *probes.Session, t probes.Target) bool {
	switch {
	case b == nil, !b.BackendStart.Equal(t.BackendStart):
		return true
	case d.Action != "cancel":
		return false
	}
	return !b.QueryStart.Equal(t.QueryStart) || b.State != "active" && b.State != "fastpath function call"
}

// findBackend reads one backend, nil when there is none with this pid, and the
// server's time.
func findBackend(ctx context.Context, s *probes.Sampler, pid int) (*probes.Session, time.Time, error) {
	snap, err := s.Tick(ctx, probes.Want{FullPID: pid})
	if err != nil {
		return nil, time.Time{}, err
	}
	for i := range snap.Sessions {
		if snap.Sessions[i].PID == pid {
			return &snap.Sessions[i], snap.At, nil
		}
	}
	return nil, snap.At, nil
}

func parseBackendID(s string) (int, time.Time, error) {
	pid, start, ok := strings.Cut(s, "@")
	n, err := strconv.ParseInt(pid, 10, 32)
	us, err2 := strconv.ParseInt(start, 10, 64)
	if !ok || errors.Join(err, err2) != nil || n <= 0 || us <= 0 {
		return 0, time.Time{}, fmt.Errorf("%q is no backend id: PID@BACKEND_START, the backend_id of locks and sessions with --format json", s)
	}
	return int(n), time.UnixMicro(us), nil
}
