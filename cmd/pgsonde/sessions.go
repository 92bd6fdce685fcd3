package main

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/budget"
)

type sessionsCmd struct {
	target
	Watch bool   `short:"w" help:"Read again at every interval until interrupted."`
	All   bool   `short:"a" help:"Every kind of backend, not just client backends."`
	Role  string `placeholder:"ROLE" help:"Only sessions of this role."`
	Limit int    `default:"500" help:"Rows at most."`
}

// Run prints the sessions, oldest transaction first.
func (c *sessionsCmd) Run(a *app) error {
	if c.Limit < 1 {
		return fmt.Errorf("--limit %d: at least 1", c.Limit)
	}
	file, s, err := a.openWithBudget(c.target)
	if err != nil {
		return err
	}
	defer s.Close()
	want := probes.Want{Sessions: true, AllKinds: c.All, Limit: c.Limit}
	if a.cli.Format == "json" {
		want.QueryBytes = 4096
	}
	return a.each(s, want, c.Watch, func(snap *probes.Snapshot) error {
		d := c.document(snap, file)
		if c.Role != "" && len(d.Sessions) == 0 {
			a.hint("no session of role %s", c.Role)
		}
		if a.cli.Format == "json" {
			return a.printJSON(d)
		}
		return a.print(func(w io.Writer) { d.write(w, c.Watch) })
	})
}

type sessionsDoc struct {
	Schema   string       `json:"schema"`
	At       *string      `json:"at"`
	Masked   bool         `json:"masked"`
	Total    int          `json:"total"`
	Sessions []sessionDoc `json:"sessions"`
}

type sessionDoc struct {
	PID           int      `json:"pid"`
	BackendID     *string  `json:"backend_id"`
	Kind          string   `json:"kind"`
	Role          *string  `json:"role"` // null: a process of the server itself
	App           string   `json:"application_name"`
	User          *string  `json:"user"`
	Database      *string  `json:"database"`
	Addr          *string  `json:"addr"`
	Port          *int     `json:"port"`
	State         *string  `json:"state"`
	WaitEventType *string  `json:"wait_event_type"`
	WaitEvent     *string  `json:"wait_event"`
	BackendS      *float64 `json:"backend_s"`
	TxS           *float64 `json:"tx_s"`
	QueryS        *float64 `json:"query_s"`
	StateS        *float64 `json:"state_s"`
	XID           *string  `json:"backend_xid"`
	XMin          *string  `json:"backend_xmin"`
	LeaderPID     *int     `json:"leader_pid"`
	Query         *string  `json:"query"`
	QueryClipped  bool     `json:"query_clipped"`
}

func (c *sessionsCmd) document(snap *probes.Snapshot, file *budget.File) sessionsDoc {
	d := sessionsDoc{Schema: "pgsonde/sessions/1", At: stamp(snap.At), Masked: snap.Server.Masked, Total: snap.SessionsTotal, Sessions: []sessionDoc{}}
	for _, s := range snap.Sessions {
		role := file.RoleOf(s)
		if c.Role != "" && role != c.Role {
			continue
		}
		d.Sessions = append(d.Sessions, sessionDoc{
			PID: s.PID, BackendID: orNull(s.BackendID()), Kind: s.Kind, Role: orNull(role), App: s.App, User: orNull(s.User), Database: orNull(s.Database),
			Addr: orNull(s.Addr), Port: positive(s.Port), State: orNull(s.State), WaitEventType: orNull(s.WaitEventType), WaitEvent: orNull(s.WaitEvent),
			BackendS: since(snap.At, s.BackendStart), TxS: since(snap.At, s.XactStart), QueryS: since(snap.At, s.QueryStart), StateS: since(snap.At, s.StateChange),
			XID: orNull(s.XID), XMin: orNull(s.XMin), LeaderPID: positive(s.LeaderPID), Query: orNull(s.Query), QueryClipped: s.QueryClipped,
		})
	}
	return d
}

func (d sessionsDoc) write(w io.Writer, watch bool) {
	if watch {
		fmt.Fprintf(w, "-- %s\n", *d.At)
	}
	g := grid{head: []string{">pid", "role", "user", "database", "addr", "state", "wait", ">tx", ">state for", "query"}}
	for _, s := range d.Sessions {
		wait := text(s.WaitEventType)
		if s.WaitEvent != nil {
			wait += ":" + *s.WaitEvent
		}
		g.add(strconv.Itoa(s.PID), s.whose(), text(s.User), text(s.Database), text(s.Addr), orUnknown(s.State, d.Masked), wait, age(s.TxS), age(s.StateS), clip(text(s.Query), 100))
	}
	g.write(w)
	if n := d.Total - len(d.Sessions); n > 0 {
		fmt.Fprintf(w, "(%d more)\n", n)
	}
}

// whose is the role of a session, or what part of the server it is.
func (s *sessionDoc) whose() string {
	if s.Role == nil {
		return s.Kind
	}
	return *s.Role
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func orUnknown(s *string, masked bool) string {
	if s == nil && masked {
		return "?"
	}
	return text(s)
}

func positive(n int) *int {
	if n <= 0 {
		return nil
	}
	return &n
}

// since is the age of t at the server's time now in seconds, at least 0; nil when t is unknown.
func since(now, t time.Time) *float64 {
	if t.IsZero() {
		return nil
	}
	s := max(now.Sub(t).Seconds(), 0)
	return &s
}

// clip cuts s to n runes.
func clip(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i] + "…"
		}
	}
	return s
}
