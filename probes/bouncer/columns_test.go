package bouncer

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/jackc/pgx/v5/pgconn"
)

// headers are the columns of each command by version, as admin.c of that release
// writes them.
var headers = map[string]map[string]string{
	"1.12": {
		"POOLS":     "database user cl_active cl_waiting sv_active sv_idle sv_used sv_tested sv_login maxwait maxwait_us pool_mode",
		"CLIENTS":   "type user database state addr port local_addr local_port connect_time request_time wait wait_us close_needed ptr link remote_pid tls",
		"DATABASES": "name host port database force_user pool_size reserve_pool pool_mode max_connections current_connections paused disabled",
		"USERS":     "name pool_mode",
		"CONFIG":    "key value changeable",
	},
	"1.16": {
		"POOLS":     "database user cl_active cl_waiting cl_cancel_req sv_active sv_idle sv_used sv_tested sv_login maxwait maxwait_us pool_mode",
		"CLIENTS":   "type user database state addr port local_addr local_port connect_time request_time wait wait_us close_needed ptr link remote_pid tls",
		"DATABASES": "name host port database force_user pool_size min_pool_size reserve_pool pool_mode max_connections current_connections paused disabled",
		"USERS":     "name pool_mode",
		"CONFIG":    "key value default changeable",
	},
	"1.18": {
		"POOLS":     "database user cl_active cl_waiting cl_active_cancel_req cl_waiting_cancel_req sv_active sv_active_cancel sv_being_canceled sv_idle sv_used sv_tested sv_login maxwait maxwait_us pool_mode",
		"CLIENTS":   "type user database state addr port local_addr local_port connect_time request_time wait wait_us close_needed ptr link remote_pid tls application_name",
		"DATABASES": "name host port database force_user pool_size min_pool_size reserve_pool pool_mode max_connections current_connections paused disabled",
		"USERS":     "name pool_mode",
		"CONFIG":    "key value default changeable",
	},
	"1.23": {
		"POOLS":     "database user cl_active cl_waiting cl_active_cancel_req cl_waiting_cancel_req sv_active sv_active_cancel sv_being_canceled sv_idle sv_used sv_tested sv_login maxwait maxwait_us pool_mode",
		"CLIENTS":   "type user database replication state addr port local_addr local_port connect_time request_time wait wait_us close_needed ptr link remote_pid tls application_name prepared_statements",
		"DATABASES": "name host port database force_user pool_size min_pool_size reserve_pool server_lifetime pool_mode max_connections current_connections paused disabled",
		"USERS":     "name pool_size pool_mode max_user_connections current_connections",
		"CONFIG":    "key value default changeable",
	},
	"1.24": {
		"POOLS":     "database user cl_active cl_waiting cl_active_cancel_req cl_waiting_cancel_req sv_active sv_active_cancel sv_being_canceled sv_idle sv_used sv_tested sv_login maxwait maxwait_us pool_mode load_balance_hosts",
		"CLIENTS":   "type user database replication state addr port local_addr local_port connect_time request_time wait wait_us close_needed ptr link remote_pid tls application_name prepared_statements id",
		"DATABASES": "name host port database force_user pool_size min_pool_size reserve_pool_size server_lifetime pool_mode load_balance_hosts max_connections current_connections max_client_connections current_client_connections paused disabled",
		"USERS":     "name pool_size reserve_pool_size pool_mode max_user_connections current_connections max_user_client_connections current_client_connections",
		"CONFIG":    "key value default changeable",
	},
}

// cells are a value for every column of the commands.
var cells = map[string]map[string]string{
	"POOLS": {
		"database": "shop", "user": "app", "cl_active": "1", "cl_waiting": "2", "cl_cancel_req": "3", "cl_active_cancel_req": "4",
		"cl_waiting_cancel_req": "3", "sv_active": "5", "sv_active_cancel": "6", "sv_being_canceled": "7", "sv_idle": "8", "sv_used": "9",
		"sv_tested": "10", "sv_login": "11", "maxwait": "12", "maxwait_us": "500000", "pool_mode": "transaction", "load_balance_hosts": "round-robin",
	},
	"CLIENTS": {
		"type": "C", "user": "app", "database": "shop", "replication": "none", "state": "waiting", "addr": "10.0.0.1", "port": "1000",
		"local_addr": "10.0.0.2", "local_port": "6432", "connect_time": "2026-01-31 12:00:00 CET", "request_time": "2026-01-31 12:00:05 CET",
		"wait": "1", "wait_us": "250000", "close_needed": "1", "ptr": "0x1", "link": "0x2", "remote_pid": "77", "tls": "TLSv1.3",
		"application_name": "werft:api", "prepared_statements": "3", "id": "99",
	},
	"DATABASES": {
		"name": "shop", "host": "db1", "port": "5432", "database": "shop_prod", "force_user": "", "pool_size": "20", "min_pool_size": "1",
		"reserve_pool": "2", "reserve_pool_size": "2", "server_lifetime": "3600", "pool_mode": "", "load_balance_hosts": "round-robin",
		"max_connections": "30", "current_connections": "4", "max_client_connections": "100", "current_client_connections": "50",
		"paused": "0", "disabled": "1",
	},
	"USERS": {
		"name": "app", "pool_mode": "session", "pool_size": "       10", "reserve_pool_size": "        1", "max_user_connections": "5",
		"current_connections": "2", "max_user_client_connections": "7", "current_client_connections": "6",
	},
	"CONFIG": {"key": "max_client_conn", "value": "100", "default": "100", "changeable": "yes"},
}

func answer(columns string, row map[string]string) *pgconn.Result {
	res := &pgconn.Result{}
	var out [][]byte
	for name := range strings.FieldsSeq(columns) {
		res.FieldDescriptions = append(res.FieldDescriptions, pgconn.FieldDescription{Name: name})
		out = append(out, []byte(row[name]))
	}
	res.Rows = append(res.Rows, out)
	return res
}

func TestColumnsOfEveryVersion(t *testing.T) {
	n := func(i int) *int { return &i }
	s := func(v string) *string { return &v }
	id := int64(99)
	tests := []struct {
		version  string
		from     string // version of the headers
		pool     Pool   // what this version gives beyond 1.12
		client   Socket
		database Database
		user     User
	}{
		{version: "1.12", database: Database{}},
		{version: "1.16", pool: Pool{ClWaitingCancel: n(3)}, database: Database{MinPoolSize: n(1)}},
		{
			version:  "1.18",
			pool:     Pool{ClWaitingCancel: n(3), ClActiveCancel: n(4), SvActiveCancel: n(6), SvBeingCanceled: n(7)},
			client:   Socket{App: s("werft:api")},
			database: Database{MinPoolSize: n(1)},
		},
		{
			version:  "1.23",
			pool:     Pool{ClWaitingCancel: n(3), ClActiveCancel: n(4), SvActiveCancel: n(6), SvBeingCanceled: n(7)},
			client:   Socket{App: s("werft:api"), Prepared: n(3), Replication: s("none")},
			database: Database{MinPoolSize: n(1), ServerLifetime: n(3600)},
			user:     User{PoolSize: n(10), MaxConnections: n(5), Connections: n(2)},
		},
		{
			version:  "1.24",
			pool:     Pool{ClWaitingCancel: n(3), ClActiveCancel: n(4), SvActiveCancel: n(6), SvBeingCanceled: n(7), LoadBalance: s("round-robin")},
			client:   Socket{App: s("werft:api"), Prepared: n(3), Replication: s("none"), ID: &id},
			database: Database{MinPoolSize: n(1), ServerLifetime: n(3600), LoadBalance: s("round-robin"), MaxClients: n(100), Clients: n(50)},
			user:     User{PoolSize: n(10), Reserve: n(1), MaxConnections: n(5), Connections: n(2), MaxClients: n(7), Clients: n(6)},
		},
		{
			version: "1.25", from: "1.24", // its columns are 1.24's
			pool:     Pool{ClWaitingCancel: n(3), ClActiveCancel: n(4), SvActiveCancel: n(6), SvBeingCanceled: n(7), LoadBalance: s("round-robin")},
			client:   Socket{App: s("werft:api"), Prepared: n(3), Replication: s("none"), ID: &id},
			database: Database{MinPoolSize: n(1), ServerLifetime: n(3600), LoadBalance: s("round-robin"), MaxClients: n(100), Clients: n(50)},
			user:     User{PoolSize: n(10), Reserve: n(1), MaxConnections: n(5), Connections: n(2), MaxClients: n(7), Clients: n(6)},
		},
	}
	for _, tt := range tests {
		t.Run(tt.version, func(t *testing.T) {
			head := headers[tt.version]
			if tt.from != "" {
				head = headers[tt.from]
			}
			r := &Reading{}
			for _, cmd := range commands() {
				name := strings.TrimPrefix(cmd.sql, "SHOW ")
				columns := head[name]
				if name == "SERVERS" {
					columns = head["CLIENTS"]
				}
				if columns == "" {
					continue
				}
				row := cells[name]
				if name == "SERVERS" {
					row = cells["CLIENTS"]
				}
				tab := newTable(name, answer(columns, row))
				cmd.into(r, tab)
				if len(tab.missing) > 0 {
					t.Errorf("%s: got missing %v, want none", name, tab.missing)
				}
			}
			p := tt.pool
			p.Database, p.User, p.ClActive, p.ClWaiting, p.SvActive, p.SvIdle, p.SvUsed, p.SvTested, p.SvLogin = "shop", "app", 1, 2, 5, 8, 9, 10, 11
			p.MaxWaitS, p.Mode = 12.5, "transaction"
			c := tt.client
			c.User, c.Database, c.State, c.Addr, c.Port, c.LocalAddr, c.LocalPort = "app", "shop", "waiting", "10.0.0.1", 1000, "10.0.0.2", 6432
			c.AgeS, c.WaitS, c.CloseNeeded, c.Ptr, c.Link, c.RemotePID, c.TLS = 5, 1.25, true, "0x1", "0x2", 77, "TLSv1.3"
			d := tt.database
			d.Name, d.Host, d.Port, d.Database, d.PoolSize, d.Reserve, d.MaxConnections, d.Connections, d.Disabled = "shop", "db1", 5432, "shop_prod", 20, 2, 30, 4, true
			u := tt.user
			u.Name, u.Mode = "app", "session"
			want := &Reading{
				Pools: []Pool{p}, Clients: []Socket{c}, Servers: []Socket{c}, Databases: []Database{d}, Users: []User{u},
				Config: map[string]string{"max_client_conn": "100"},
			}
			if diff := cmp.Diff(want, r, cmpopts.IgnoreUnexported(Socket{})); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// A version that drops a column must not pass for one that says zero.
func TestMissingColumnsAreNamed(t *testing.T) {
	tab := newTable("POOLS", answer("database user cl_active", cells["POOLS"]))
	r := &Reading{}
	r.pools(tab)
	if !slices.Contains(tab.missing, "POOLS.sv_active") || slices.Contains(tab.missing, "POOLS.cl_active") {
		t.Errorf("got missing %v, want POOLS.sv_active and not POOLS.cl_active", tab.missing)
	}
}

// What is no number, NULL or shorter than its header is nobody's panic.
func TestOddAnswers(t *testing.T) {
	for _, cell := range []string{"", "x", "-1", "99999999999999999999", "\xff\x00", "1e9"} {
		for _, cmd := range commands() {
			name := strings.TrimPrefix(cmd.sql, "SHOW ")
			res := answer(headers["1.24"][name]+" list items key value database", nil)
			for i := range res.Rows[0] {
				res.Rows[0][i] = []byte(cell)
			}
			res.Rows = append(res.Rows, make([][]byte, len(res.Rows[0])), nil)
			r := &Reading{}
			cmd.into(r, newTable(name, res))
			Judge(Input{Instances: []Instance{{Reading: r}}})
		}
	}
}

// A client that waits inside its login has no query, and yet waits.
func TestWaitInsideALogin(t *testing.T) {
	row := map[string]string{
		"database": "shop", "state": "waiting", "wait": "0", "wait_us": "0",
		"connect_time": "2026-01-31 12:00:00 CET", "request_time": "2026-01-31 12:00:00 CET",
	}
	res := answer(headers["1.18"]["CLIENTS"], row)
	row = map[string]string{"database": "pgbouncer", "state": "active", "request_time": "2026-01-31 12:00:07 CET"} // our own
	res.Rows = append(res.Rows, answer(headers["1.18"]["CLIENTS"], row).Rows[0])
	r := &Reading{}
	r.clients(newTable("CLIENTS", res))
	if len(r.Clients) != 1 || r.Clients[0].WaitS != 7 {
		t.Errorf("got %+v, want one client that waits for 7 s", r.Clients)
	}
}
