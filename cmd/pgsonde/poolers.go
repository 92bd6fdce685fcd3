package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/bouncer"
	"github.com/pgsonde/pgsonde/probes/budget"
	"github.com/pgsonde/pgsonde/tui/clean"
)

type poolersCmd struct {
	target
	Watch bool `short:"w" help:"Read again at every interval until interrupted."`
}

var errNoConsole = errors.New("no console is known: name one with --pooler DSN, or as console: of a pooler in the budget file")

// Run prints every pooler's pools and clients, and why clients wait.
func (c *poolersCmd) Run(a *app) error {
	file, _, err := a.findBudget()
	if err != nil {
		return err
	}
	fleet, err := a.consoles(file, a.askPassword)
	if err != nil {
		return err
	}
	if fleet == nil {
		return errNoConsole
	}
	defer fleet.Close()
	behind := behindPooler{app: a, target: c.target}
	defer behind.close()
	for {
		err := c.once(a, file, fleet, behind.look())
		switch {
		case a.ctx.Err() != nil:
			return nil
		case err != nil && (!c.Watch || !errors.Is(err, errFound)):
			return err
		case !c.Watch:
			return nil
		}
		select {
		case <-a.ctx.Done():
			return nil
		case <-time.After(a.cli.Interval):
		}
	}
}

// once reads the consoles and prints one answer.
func (c *poolersCmd) once(a *app, file *budget.File, fleet *bouncer.Fleet, s scene) error {
	told := fleet.Read(a.ctx)
	if a.ctx.Err() != nil {
		return nil
	}
	if err := allAway(told); err != nil && !c.Watch {
		return withHint(err)
	}
	views, findings := judgePoolers(file, told, s)
	var err error
	if a.cli.Format == "json" {
		err = a.printJSON(poolersDocument(views, findings, s))
	} else {
		err = a.print(func(w io.Writer) { writePoolers(w, views, findings, s, c.Watch) })
	}
	if err != nil {
		return err
	}
	return a.verdict(findings)
}

// allAway is the first error when no console was ever read.
func allAway(told []bouncer.Told) error {
	var first error
	for _, t := range told {
		for _, in := range t.Instances {
			if in.Reading != nil {
				return nil
			}
			if first == nil {
				first = in.Err
			}
		}
	}
	return first
}

// retryServer is how long a server that could not be reached is left alone.
const retryServer = 10 * time.Second

// behindPooler is the server behind the poolers. That it cannot be reached is a
// note: the consoles say enough without it.
type behindPooler struct {
	app    *app
	target target
	s      *probes.Sampler
	err    error
	tried  time.Time
}

func (b *behindPooler) look() scene {
	if b.s == nil && (b.tried.IsZero() || time.Since(b.tried) > retryServer) {
		b.tried = time.Now()
		var o probes.Options
		if o, b.err = b.app.options(b.target); b.err == nil {
			b.s, b.err = probes.Open(b.app.ctx, o)
		}
	}
	if b.s == nil {
		return withoutServer(b.err)
	}
	ctx, cancel := context.WithTimeout(b.app.ctx, b.app.cli.Timeout)
	defer cancel()
	return look(ctx, b.s)
}

func (b *behindPooler) close() {
	if b.s != nil {
		b.s.Close()
	}
}

func writePoolers(w io.Writer, views []*bouncer.View, findings []probes.Finding, s scene, watch bool) {
	if watch {
		fmt.Fprintf(w, "-- %s\n", time.Now().UTC().Format("2006-01-02 15:04:05Z"))
	}
	for _, n := range s.notes {
		fmt.Fprintf(w, "~ %s\n", clean.Line(n))
	}
	writeFindings(w, findings)
	for i, v := range views {
		if i > 0 || len(findings)+len(s.notes) > 0 {
			fmt.Fprintln(w)
		}
		writePooler(w, v)
	}
}

func writePooler(w io.Writer, v *bouncer.View) {
	parts := []string{v.Name, plural(len(v.Instances), "instance"), clientsText(v.ClientsUsed, v.ClientsMax), serverSideText(v)}
	if part := v.Part(); part != "" {
		parts = append(parts, part)
	}
	fmt.Fprintln(w, clean.Line(strings.Join(parts, " · ")))
	several := len(v.Instances) > 1
	for i, in := range v.Instances {
		name := ""
		if several {
			name = v.InstanceName(i) + ": "
		}
		fmt.Fprintf(w, "  %s\n", clean.Line(name+instanceText(in, several)))
	}
	g := grid{head: []string{"pool", "mode", ">clients", ">idle", ">waiting", ">oldest", ">servers", ">active", ">idle", "why"}}
	if several {
		g.head = append([]string{"at"}, g.head...)
	}
	for i := range v.Pools {
		p := &v.Pools[i]
		row := []string{
			p.Database + "@" + p.User, p.Mode, fmt.Sprint(p.ClientsActive), fmt.Sprint(p.ClientsIdle), fmt.Sprint(p.ClientsWaiting),
			oldestWait(p), serversText(p), fmt.Sprint(p.Active), fmt.Sprint(p.Idle + p.Used + p.Tested), poolWhy(p),
		}
		if several {
			row = append([]string{v.InstanceName(p.Instance)}, row...)
		}
		g.add(row...)
	}
	if len(g.rows) > 0 {
		fmt.Fprintln(w)
		g.write(w)
	}
	if len(v.Roles) == 0 {
		return
	}
	fmt.Fprintln(w)
	g = grid{head: []string{"role", ">clients", ">with a server", ">idle", ">waiting", ">oldest", ">lock", ">intx"}}
	for _, r := range v.Roles {
		oldest := ""
		if r.Waiting > 0 {
			oldest = age(&r.MaxWaitS)
		}
		g.add(roleOrUnknown(r.Role), fmt.Sprint(r.Clients), fmt.Sprint(r.Linked), fmt.Sprint(r.Idle), fmt.Sprint(r.Waiting), oldest,
			fmt.Sprint(r.Lock), fmt.Sprint(r.IdleInTx))
	}
	g.write(w)
}

func roleOrUnknown(role string) string {
	if role == "" {
		return "(unknown)"
	}
	return role
}

func clientsText(used, limit *int) string {
	if used != nil && limit != nil {
		return "clients " + probes.OutOf(*used, *limit, "", "limit")
	}
	return fmt.Sprintf("clients %s of %s", count(used), count(limit))
}

func serverSideText(v *bouncer.View) string {
	s := v.Servers
	if v.Read == 0 {
		return "server connections ?"
	}
	out := fmt.Sprintf("server connections %d", s.Now)
	switch {
	case s.Cap != nil && s.Now > *s.Cap:
		out += fmt.Sprintf(", %d more than the %d its pools may open", s.Now-*s.Cap, *s.Cap)
	case s.Cap != nil:
		out += fmt.Sprintf(" of %d its pools may open", *s.Cap)
	}
	if s.Usable != nil {
		out += fmt.Sprintf(", %d the server has", *s.Usable)
	}
	return out + fmt.Sprintf(", %d idle", s.Idle)
}

func instanceText(in bouncer.InstanceView, several bool) string {
	parts := []string{in.Target}
	if in.Version != "" {
		parts = append(parts, "PgBouncer "+in.Version)
	}
	if several && in.ClientsUsed != nil {
		parts = append(parts, clientsText(in.ClientsUsed, in.ClientsMax))
	}
	if in.Paused != nil && *in.Paused {
		parts = append(parts, "PAUSED")
	}
	if in.Suspended != nil && *in.Suspended {
		parts = append(parts, "SUSPENDED")
	}
	if in.OldS > 0 {
		parts = append(parts, "! figures "+age(&in.OldS)+" old")
	}
	if in.Err != "" {
		parts = append(parts, "! "+in.Err)
	}
	return strings.Join(parts, " · ")
}

func oldestWait(p *bouncer.PoolView) string {
	if p.ClientsWaiting == 0 {
		return ""
	}
	return age(&p.MaxWaitS)
}

func serversText(p *bouncer.PoolView) string {
	size := "unlimited"
	if p.Size > 0 {
		size = fmt.Sprint(p.Size)
	}
	out := fmt.Sprintf("%d/%s", p.Servers(), size)
	if p.Reserve > 0 {
		out += fmt.Sprintf("+%d", p.Reserve)
	}
	return out
}

func poolWhy(p *bouncer.PoolView) string {
	if p.OldS > 0 {
		return "old figures"
	}
	switch {
	case p.Why != "":
		return p.Why
	case p.Refused != "":
		return "cannot open a server connection: " + p.Refused
	case p.Disabled:
		return "disabled"
	case p.Paused:
		return "paused"
	}
	return ""
}
