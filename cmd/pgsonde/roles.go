package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/bouncer"
	"github.com/pgsonde/pgsonde/probes/budget"
	"github.com/pgsonde/pgsonde/tui/clean"
)

type rolesCmd struct {
	target
	Watch bool `short:"w" help:"Read again at every interval until interrupted."`
}

// mostRows is how many sessions are told apart, at most.
const mostRows = 5000

// Run prints the use of every role held against the budget. The consoles of the
// file's poolers are read first, each time: a session that was there before them
// and is not theirs is known to go past them.
func (c *rolesCmd) Run(a *app) error {
	file, s, err := a.openWithBudget(c.target)
	if err != nil {
		return err
	}
	defer s.Close()
	var fleet *bouncer.Fleet
	want := probes.Want{}
	if file != nil && len(file.Poolers) > 0 {
		if fleet, err = a.consoles(file, nil); err != nil {
			return err
		}
	}
	if fleet != nil {
		defer fleet.Close()
		want = probes.Want{Sessions: true, Limit: mostRows, QueryBytes: 1}
	}
	var told []bouncer.Told
	before := func() {
		if fleet != nil {
			told = fleet.Read(a.ctx)
		}
	}
	return a.eachAfter(before, s, want, c.Watch, func(snap *probes.Snapshot) error {
		u := budget.Use(file, snap, asPoolers(told, time.Now())...)
		notes := notesOf(snap, told)
		if a.cli.Format == "json" {
			err = a.printJSON(rolesDocument(snap, u, notes))
		} else {
			err = a.print(func(w io.Writer) { writeRoles(w, snap, u, notes, c.Watch) })
		}
		if err != nil {
			return err
		}
		return a.verdict(u.Findings)
	})
}

// notesOf is what must be known of the reading.
func notesOf(snap *probes.Snapshot, told []bouncer.Told) []string {
	out := []string{}
	for _, n := range snap.Notes {
		out = append(out, n.Text)
	}
	return append(out, notRead(told)...)
}

func writeRoles(w io.Writer, snap *probes.Snapshot, u *budget.Usage, notes []string, watch bool) {
	if watch {
		fmt.Fprintf(w, "-- %s\n", snap.At.UTC().Format("2006-01-02 15:04:05Z"))
	}
	fmt.Fprintln(w, serverLine(snap, u))
	for _, n := range notes {
		fmt.Fprintf(w, "~ %s\n", clean.Line(n))
	}
	writeFindings(w, u.Findings)
	fmt.Fprintln(w)
	g := grid{head: []string{"role", ">pods", ">now", ">busy", ">idle", ">intx", ">lock", ">kept", ">cap", ">peak", ">oldest tx", "note"}}
	for _, r := range u.Rows {
		known := count
		if elsewhere(r) {
			known = blank
		}
		g.add(r.Role, pods(r), bound(u.Bound, r.Now), known(r.Busy), known(r.Idle), known(r.IdleInTx), known(r.LockWaiting),
			blank(r.Kept), capText(r), blank(r.Peak), age(r.OldestTxS), r.Note)
	}
	g.write(w)
}

// serverLine is the first line: who answered and how full it is.
func serverLine(snap *probes.Snapshot, u *budget.Usage) string {
	s := snap.Server
	parts := []string{s.Target, "PostgreSQL " + s.Version}
	if s.InRecovery {
		parts = append(parts, "standby")
	}
	if s.Pooled {
		parts = append(parts, "through a pooler")
	}
	reserved := strconv.Itoa(u.MaxConnections)
	for _, n := range []int{u.SuperuserReserved, u.Reserved} {
		if n > 0 {
			reserved += "-" + strconv.Itoa(n)
		}
	}
	if n := u.ProviderReserved; n > 0 {
		reserved += fmt.Sprintf("; the plan leaves %d to the provider", n)
	}
	used := fmt.Sprintf("used %s of %d usable (%s)", bound(u.Bound, u.Used), u.Usable, reserved)
	if u.Used > u.Usable {
		used = fmt.Sprintf("used %s, %d over the usable %d (%s)", bound(u.Bound, u.Used), u.Used-u.Usable, u.Usable, reserved)
	}
	parts = append(parts, used,
		fmt.Sprintf("free %d, keep %d", u.Free, u.KeepFree))
	if u.Running != nil {
		run := "running " + strconv.Itoa(*u.Running)
		if u.CPUs > 0 {
			run += fmt.Sprintf(" on %d cpus", u.CPUs)
		}
		parts = append(parts, run)
	}
	if u.Bound {
		parts = append(parts, "masked: grant pg_read_all_stats to "+s.User)
	}
	return clean.Line(strings.Join(parts, " · "))
}

// bound prints a count, as an upper bound where rows are masked.
func bound(masked bool, n int) string {
	if masked && n > 0 {
		return "≤ " + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}

// elsewhere says that a role is counted in its pooler's row.
func elsewhere(r budget.Row) bool { return r.Via != "" && r.Now == 0 }

func pods(r budget.Row) string {
	switch {
	case elsewhere(r):
		return ""
	case r.Pods == nil && r.Replicas == nil:
		return ""
	case r.Replicas == nil:
		return count(r.Pods)
	}
	return count(r.Pods) + "/" + count(r.Replicas)
}

func capText(r budget.Row) string {
	if r.Cap == nil && r.Runs == "off" {
		return "off"
	}
	return blank(r.Cap)
}

type rolesDoc struct {
	Schema   string           `json:"schema"`
	At       *string          `json:"at"`
	Server   rolesServer      `json:"server"`
	Roles    []roleDoc        `json:"roles"`
	Findings []probes.Finding `json:"findings"`
	Notes    []string         `json:"notes"`
}

type rolesServer struct {
	VersionNum        int  `json:"version_num"`
	InRecovery        bool `json:"in_recovery"`
	Pooled            bool `json:"pooled"`
	MaxConnections    int  `json:"max_connections"`
	SuperuserReserved int  `json:"superuser_reserved"`
	Reserved          int  `json:"reserved"`
	ProviderReserved  int  `json:"provider_reserved"`
	Usable            int  `json:"usable"`
	Used              int  `json:"used"`
	Hidden            *int `json:"hidden"`
	Free              int  `json:"free"`
	KeepFree          int  `json:"keep_free"`
	Running           *int `json:"running"`
	CPUs              *int `json:"cpus"`
	Masked            bool `json:"masked"`
}

type roleDoc struct {
	Role              string   `json:"role"`
	Declared          bool     `json:"declared"`
	Origin            string   `json:"origin"`
	Runs              *string  `json:"runs"`
	Via               *string  `json:"via"`
	Pods              *int     `json:"pods"`
	Replicas          *int     `json:"replicas"`
	Now               int      `json:"now"`
	Busy              *int     `json:"busy"`
	Idle              *int     `json:"idle"`
	IdleInTransaction *int     `json:"idle_in_transaction"`
	LockWaiting       *int     `json:"lock_waiting"`
	Kept              *int     `json:"kept"`
	Cap               *int     `json:"cap"`
	Peak              *int     `json:"peak"`
	OldestTxS         *float64 `json:"oldest_tx_s"`
	PodsFull          []podDoc `json:"pods_full"`
	Over              bool     `json:"over"`
	Note              *string  `json:"note"`
}

type podDoc struct {
	Addr string `json:"addr"`
	Busy int    `json:"busy"`
	Cap  int    `json:"cap"`
}

func rolesDocument(snap *probes.Snapshot, u *budget.Usage, notes []string) rolesDoc {
	d := rolesDoc{
		Schema: "pgsonde/roles/1", At: stamp(snap.At),
		Server: rolesServer{
			VersionNum: snap.Server.VersionNum, InRecovery: snap.Server.InRecovery, Pooled: snap.Server.Pooled,
			MaxConnections: u.MaxConnections, SuperuserReserved: u.SuperuserReserved, Reserved: u.Reserved,
			ProviderReserved: u.ProviderReserved, Usable: u.Usable, Used: u.Used, Hidden: u.Hidden, Free: u.Free,
			KeepFree: u.KeepFree, Running: u.Running, Masked: u.Bound,
		},
		Roles: []roleDoc{}, Findings: emptyNotNull(u.Findings), Notes: notes,
	}
	if u.CPUs > 0 {
		d.Server.CPUs = &u.CPUs
	}
	for _, r := range u.Rows {
		row := roleDoc{
			Role: r.Role, Declared: r.Origin == budget.Declared, Origin: string(r.Origin), Runs: orNull(r.Runs), Via: orNull(r.Via),
			Pods: r.Pods, Replicas: r.Replicas, Now: r.Now, Busy: r.Busy, Idle: r.Idle, IdleInTransaction: r.IdleInTx,
			LockWaiting: r.LockWaiting, Kept: r.Kept, Cap: r.Cap, Peak: r.Peak, OldestTxS: r.OldestTxS,
			PodsFull: []podDoc{}, Over: r.Over, Note: orNull(r.Note),
		}
		for _, p := range r.PodsFull {
			row.PodsFull = append(row.PodsFull, podDoc{p.Addr, p.Busy, p.Cap})
		}
		d.Roles = append(d.Roles, row)
	}
	return d
}
