package tui

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/bouncer"
	"github.com/pgsonde/pgsonde/tui/spark"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// poolFacts is everything about a pool or a process, at most h lines of w cells.
func poolFacts(t *theme.Theme, f *frame, ref poolRef, w, h int) []string {
	if ref.pool == nil {
		return cutLines(instanceFacts(t, f, ref, w), h)
	}
	p := ref.pool
	if h == 1 {
		return []string{t.Line(w, theme.Span{Role: poolSign(p), Text: cmp.Or(poolWhy(p), poolRest(p))})}
	}
	where := p.Mode
	if p.ServerDatabase != p.Database || p.ServerUser != p.User {
		where += ", logs in as " + p.ServerUser + " to " + p.ServerDatabase
	}
	out := []string{t.Split(w, []theme.Span{{Role: theme.Strong, Text: p.Database + "@" + p.User}}, dim(where))}
	if why := poolWhy(p); why != "" {
		sign := poolSign(p)
		out = append(out, wrap(t, sign, theme.Sign(sign)+" ", why, w)...)
	} else {
		out = append(out, t.Line(w, theme.Span{Role: theme.Dim, Text: poolRest(p)}))
	}
	if p.Action != "" {
		out = append(out, wrap(t, theme.Dim, "  ", p.Action, w)...)
	}
	for _, r := range p.Roots {
		out = append(out, wrap(t, theme.Holder, "* ", rootText(f, r), w)...)
	}
	if len(p.Backends) > 0 {
		out = append(out, wrap(t, theme.Normal, "servers   ", serversText(p), w)...)
	}
	if roles := poolRoles(ref.view, p); len(roles) > 0 {
		var parts []string
		for _, r := range roles {
			parts = append(parts, clientsText(r))
		}
		out = append(out, wrap(t, theme.Dim, "clients by role: ", strings.Join(parts, "; "), w)...)
	}
	return cutLines(out, h)
}

func cutLines(lines []string, h int) []string { return lines[:min(len(lines), max(0, h))] }

// poolRest is a pool for which nobody waits.
func poolRest(p *bouncer.PoolView) string {
	if p.Mode == "session" { // taken is not at work there
		return fmt.Sprintf("nobody waits: %d servers are kept by clients, %d free; %d clients have none",
			p.Active, p.Idle+p.Used+p.Tested, p.ClientsIdle)
	}
	return fmt.Sprintf("nobody waits: %d servers work, %d idle; %d clients are linked, %d idle",
		p.Active, p.Idle+p.Used+p.Tested, p.ClientsActive, p.ClientsIdle)
}

// instanceFacts is one process and its pooler.
func instanceFacts(t *theme.Theme, f *frame, ref poolRef, w int) []string {
	in, v := ref.view.Instances[ref.instance], ref.view
	sign := instanceSign(in)
	out := []string{t.Split(w, []theme.Span{{Role: theme.Strong, Text: in.Target}}, dim(in.Version))}
	if sign != theme.Normal && instanceState(in) != "" {
		out = append(out, wrap(t, sign, theme.Sign(sign)+" ", instanceState(in), w)...)
	}
	if in.ClientsUsed != nil && in.ClientsMax != nil {
		bar := max(8, min(w-40, 40))
		full, rest := spark.Bar(t.Glyphs, float64(*in.ClientsUsed), float64(*in.ClientsMax), bar)
		out = append(out, t.Line(w, theme.Span{Role: theme.Dim, Text: t.Fit("clients", 10, false)},
			theme.Span{Role: clientsSign(in), Text: full}, theme.Span{Role: theme.Dim, Text: rest},
			theme.Span{Text: " " + probes.OutOf(*in.ClientsUsed, *in.ClientsMax, "", "limit")}))
	}
	if !in.At.IsZero() {
		read := fmt.Sprintf("in %s", span(in.Took))
		if f.pool != nil {
			if old := f.pool.at.Sub(in.At); old >= 2*poolersRest {
				read = span(old) + " ago, " + read
			}
		}
		out = append(out, t.Line(w, theme.Span{Role: theme.Dim, Text: t.Fit("read", 10, false)}, theme.Span{Text: read}))
	}
	out = append(out, wrap(t, theme.Dim, t.Fit("all of it", 10, false), poolerSum(v), w)...)
	var parts []string
	for _, r := range v.Roles {
		parts = append(parts, clientsText(r))
	}
	if len(parts) > 0 {
		out = append(out, wrap(t, theme.Dim, "clients by role: ", strings.Join(parts, "; "), w)...)
	}
	if len(in.Missing) > 0 {
		out = append(out, wrap(t, theme.Dim, "not told: ", strings.Join(in.Missing, ", "), w)...)
	}
	return out
}

// rootText names who a pool's lock waits lead to.
func rootText(f *frame, r bouncer.Root) string {
	who := "a prepared transaction"
	if r.PID != 0 {
		who = "pid " + strconv.Itoa(r.PID)
	}
	var about []string
	if r.Role != "" {
		about = append(about, r.Role)
	}
	if r.Session != nil {
		about = append(about, state(r.Session))
		if tx := f.age(r.Session.XactStart); tx >= 0 {
			about = append(about, "tx "+age(tx))
		}
	}
	if len(about) > 0 {
		who += " (" + strings.Join(about, ", ") + ")"
	}
	return fmt.Sprintf("%s holds up %d of the pool's servers", who, r.Victims)
}

// serversText says what the servers of a pool do.
func serversText(p *bouncer.PoolView) string {
	u := p.Use
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, strconv.Itoa(n)+" "+what)
		}
	}
	add(u.Running, "running")
	add(u.Lock, "waiting for a lock")
	add(u.IdleInTx, "idle in transaction")
	add(u.Client, "waiting for its client")
	add(u.Idle, "idle but taken")
	add(u.Unknown, "not seen on the server")
	add(p.Idle+p.Used+p.Tested, "free")
	add(p.Login, "logging in")
	return strings.Join(parts, ", ")
}

// poolRoles sums the clients of one pool by role, those that wait first.
func poolRoles(v *bouncer.View, p *bouncer.PoolView) []bouncer.RoleView {
	var out []bouncer.RoleView
	for i := range v.Clients {
		c := &v.Clients[i]
		if c.Instance != p.Instance || c.Socket.Database != p.Database || c.Socket.User != p.User {
			continue
		}
		k := slices.IndexFunc(out, func(r bouncer.RoleView) bool { return r.Role == c.Role })
		if k < 0 {
			k, out = len(out), append(out, bouncer.RoleView{Role: c.Role})
		}
		r := &out[k]
		r.Clients++
		switch {
		case c.Waiting:
			r.Waiting++
			r.MaxWaitS = max(r.MaxWaitS, c.WaitS)
		case c.Server != nil:
			r.Linked++
			if c.Server.Doing == bouncer.DoingLock {
				r.Lock++
			}
			if c.Server.Doing == bouncer.DoingIdleInTx {
				r.IdleInTx++
			}
		default:
			r.Idle++
		}
	}
	slices.SortStableFunc(out, func(a, b bouncer.RoleView) int {
		return cmp.Or(cmp.Compare(b.Waiting, a.Waiting), cmp.Compare(b.Clients, a.Clients), strings.Compare(a.Role, b.Role))
	})
	return out
}

// clientsText is a role's clients in words.
func clientsText(r bouncer.RoleView) string {
	out := cmp.Or(r.Role, "(unknown)") + " " + strconv.Itoa(r.Clients)
	var parts []string
	if r.Waiting > 0 {
		parts = append(parts, fmt.Sprintf("%d wait, the first for %s", r.Waiting, age(r.MaxWaitS)))
	}
	if r.IdleInTx > 0 {
		parts = append(parts, strconv.Itoa(r.IdleInTx)+" idle in tx")
	}
	if r.Lock > 0 {
		parts = append(parts, strconv.Itoa(r.Lock)+" wait for a lock")
	}
	if len(parts) > 0 {
		out += " (" + strings.Join(parts, ", ") + ")"
	}
	return out
}

// poolWhy is the cause in words; "" when nothing is the matter.
func poolWhy(p *bouncer.PoolView) string {
	if p.OldS > 0 {
		return "its console was not read: these figures are " + age(p.OldS) + " old"
	}
	switch {
	case p.Why != "":
		return p.Why
	case p.Refused != "":
		return "cannot open a server connection: " + p.Refused
	case p.Disabled:
		return "disabled (DISABLE)"
	case p.Paused:
		return "paused (PAUSE)"
	}
	return ""
}

// poolCause is the cause in few words, for a narrow column.
func poolCause(p *bouncer.PoolView) string {
	if p.OldS > 0 {
		return "as of " + age(p.OldS) + " ago"
	}
	switch p.Cause {
	case bouncer.Full:
		u := p.Use
		var parts []string
		for _, x := range []struct {
			n    int
			what string
		}{{u.Lock, "lock"}, {u.IdleInTx, "in tx"}, {u.Running, "run"}, {u.Client, "client"}, {u.Idle, "idle"}} {
			if x.n > 0 {
				parts = append(parts, strconv.Itoa(x.n)+" "+x.what)
			}
		}
		if len(parts) == 0 {
			return "full"
		}
		return "full: " + strings.Join(parts, ", ")
	case bouncer.Opening:
		return "opening a server"
	case bouncer.DatabaseLimit:
		return "max_db_connections"
	case bouncer.UserLimit:
		return "max_user_connections"
	case bouncer.ServerRefuses:
		return "server refuses: " + p.Why
	case bouncer.ServerAway:
		return "server away: " + p.Why
	case bouncer.LoginHangs:
		return "logins hang"
	case bouncer.CannotOpen:
		return "cannot open: " + p.Why
	case bouncer.CancelsWaiting:
		return "cancels wait"
	}
	switch {
	case p.Disabled:
		return "DISABLED"
	case p.Paused:
		return "PAUSED"
	case p.Refused != "":
		if p.Away {
			return "server away: " + p.Refused
		}
		return "server refuses: " + p.Refused
	}
	return ""
}
