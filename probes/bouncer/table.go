package bouncer

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// table is the answer of one SHOW command, read by column name: versions add
// columns anywhere.
type table struct {
	name    string
	columns map[string]int
	rows    [][][]byte
	at      int // the current row
	missing []string
}

func newTable(name string, res *pgconn.Result) *table {
	t := &table{name: name, columns: map[string]int{}, rows: res.Rows, at: -1}
	for i, f := range res.FieldDescriptions {
		t.columns[f.Name] = i
	}
	return t
}

func (t *table) next() bool {
	t.at++
	return t.at < len(t.rows)
}

func (t *table) has(col string) bool {
	_, ok := t.columns[col]
	return ok
}

// text is a column that every version has; "" for NULL.
func (t *table) text(col string) string {
	i, ok := t.columns[col]
	if !ok {
		if m := t.name + "." + col; !slices.Contains(t.missing, m) {
			t.missing = append(t.missing, m)
		}
		return ""
	}
	if i >= len(t.rows[t.at]) {
		return ""
	}
	return string(t.rows[t.at][i])
}

// number is a column that every version has, 0 for NULL and what is no number.
func (t *table) number(col string) int {
	n, _ := strconv.Atoi(strings.TrimSpace(t.text(col)))
	return n
}

// maybeText is a column that some versions have.
func (t *table) maybeText(col string) *string {
	if !t.has(col) {
		return nil
	}
	s := t.text(col)
	return &s
}

// maybe is a number of some versions; nil too when there is none in it.
func (t *table) maybe(cols ...string) *int {
	for _, col := range cols {
		if !t.has(col) {
			continue
		}
		if n, err := strconv.Atoi(strings.TrimSpace(t.text(col))); err == nil {
			return &n
		}
	}
	return nil
}

// seconds adds a column of whole seconds and its microseconds.
func (t *table) seconds(whole, micros string) float64 {
	return float64(t.number(whole)) + float64(t.number(micros))/1e6
}

// clock is a time of PgBouncer's clock as "2026-01-31 12:00:00 CET": in the
// pooler's own zone, whose abbreviation says little. Only differences of them
// mean something.
func (t *table) clock(col string) time.Time {
	text := t.text(col)
	at, err := time.Parse(time.DateTime, text[:min(len(text), len(time.DateTime))])
	if err != nil {
		return time.Time{}
	}
	return at
}

func (r *Reading) pools(t *table) {
	for t.next() {
		p := Pool{
			Database: t.text("database"), User: t.text("user"),
			ClActive: t.number("cl_active"), ClWaiting: t.number("cl_waiting"),
			ClActiveCancel:  t.maybe("cl_active_cancel_req"),
			ClWaitingCancel: t.maybe("cl_waiting_cancel_req", "cl_cancel_req"),
			SvActive:        t.number("sv_active"), SvIdle: t.number("sv_idle"), SvUsed: t.number("sv_used"),
			SvTested: t.number("sv_tested"), SvLogin: t.number("sv_login"),
			SvActiveCancel: t.maybe("sv_active_cancel"), SvBeingCanceled: t.maybe("sv_being_canceled"),
			MaxWaitS: t.seconds("maxwait", "maxwait_us"), Mode: t.text("pool_mode"),
			LoadBalance: t.maybeText("load_balance_hosts"),
		}
		if p.Database != consoleName {
			r.Pools = append(r.Pools, p)
		}
	}
}

func (r *Reading) servers(t *table) { r.Servers, _ = sockets(t) }

// clients reads SHOW CLIENTS. A client that waits inside its login, for the first
// server connection of its pool, has no query and so no wait of its own.
func (r *Reading) clients(t *table) {
	var now time.Time
	r.Clients, now = sockets(t)
	for i := range r.Clients {
		if c := &r.Clients[i]; c.State == stateWaiting && c.WaitS == 0 {
			c.WaitS = max(0, now.Sub(c.requested).Seconds())
		}
	}
}

// sockets reads the rows, and PgBouncer's clock: the newest request, which is our
// own for these rows.
func sockets(t *table) (out []Socket, now time.Time) {
	for t.next() {
		s := Socket{
			User: t.text("user"), Database: t.text("database"), State: t.text("state"),
			Addr: t.text("addr"), Port: t.number("port"),
			LocalAddr: t.text("local_addr"), LocalPort: t.number("local_port"),
			connected: t.clock("connect_time"), requested: t.clock("request_time"),
			WaitS: t.seconds("wait", "wait_us"), CloseNeeded: t.number("close_needed") != 0,
			Ptr: t.text("ptr"), Link: t.text("link"), RemotePID: t.number("remote_pid"), TLS: t.text("tls"),
			App: t.maybeText("application_name"), Prepared: t.maybe("prepared_statements"),
			Replication: t.maybeText("replication"),
		}
		if n := t.maybe("id"); n != nil {
			id := int64(*n)
			s.ID = &id
		}
		if s.requested.After(now) {
			now = s.requested
		}
		if s.Database != consoleName {
			out = append(out, s)
		}
	}
	for i := range out {
		out[i].AgeS = max(0, now.Sub(out[i].connected).Seconds())
	}
	return out, now
}

func (r *Reading) databases(t *table) {
	for t.next() {
		d := Database{
			Name: t.text("name"), Host: t.text("host"), Port: t.number("port"), Database: t.text("database"),
			ForceUser: t.text("force_user"), PoolSize: t.number("pool_size"), MinPoolSize: t.maybe("min_pool_size"),
			Reserve: value(t.maybe("reserve_pool_size", "reserve_pool")), ServerLifetime: t.maybe("server_lifetime"),
			Mode: t.text("pool_mode"), LoadBalance: t.maybeText("load_balance_hosts"),
			MaxConnections: t.number("max_connections"), Connections: t.number("current_connections"),
			MaxClients: t.maybe("max_client_connections"), Clients: t.maybe("current_client_connections"),
			Paused: t.number("paused") != 0, Disabled: t.number("disabled") != 0,
		}
		if d.Name != consoleName {
			r.Databases = append(r.Databases, d)
		}
	}
}

func (r *Reading) users(t *table) {
	for t.next() {
		r.Users = append(r.Users, User{
			Name: t.text("name"), Mode: t.text("pool_mode"),
			PoolSize: t.maybe("pool_size"), Reserve: t.maybe("reserve_pool_size"),
			MaxConnections: t.maybe("max_user_connections"), Connections: t.maybe("current_connections"),
			MaxClients: t.maybe("max_user_client_connections"), Clients: t.maybe("current_client_connections"),
		})
	}
}

func (r *Reading) config(t *table) {
	r.Config = make(map[string]string, len(t.rows))
	for t.next() {
		r.Config[t.text("key")] = t.text("value")
	}
}

func (r *Reading) stats(t *table) {
	for t.next() {
		s := Stat{Database: t.text("database"), Values: map[string]int64{}}
		for col := range t.columns {
			if n, err := strconv.ParseInt(t.text(col), 10, 64); err == nil && col != "database" {
				s.Values[col] = n
			}
		}
		if s.Database != consoleName {
			r.Stats = append(r.Stats, s)
		}
	}
}

func (r *Reading) lists(t *table) {
	r.Lists = make(map[string]int, len(t.rows))
	for t.next() {
		r.Lists[t.text("list")] = t.number("items")
	}
}

func (r *Reading) state(t *table) {
	r.State = &State{}
	for t.next() {
		on := t.text("value") == "yes"
		switch t.text("key") {
		case "active":
			r.State.Active = on
		case "paused":
			r.State.Paused = on
		case "suspended":
			r.State.Suspended = on
		}
	}
}
