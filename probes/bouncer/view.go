package bouncer

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

// PoolerSpec is what the budget file declares of a pooler. Zero means not
// declared.
type PoolerSpec struct {
	Name             string // "" is shown as "pgbouncer"
	Mode             string // session, transaction, statement
	Instances        int
	MaxClientConn    int // of each instance
	MaxDBConnections int
	Pools            []PoolSpec
	ClientCap        int // the most connections that its roles can open together
	Needs            []SessionNeed
}

// PoolSpec is a declared pool.
type PoolSpec struct {
	Database, User string
	Size, Reserve  int
}

// SessionNeed is a role that connects through the pooler and needs state that
// lives as long as its session.
type SessionNeed struct {
	Role     string
	Listen   bool // LISTEN
	Advisory bool // session-level advisory locks
	Cursors  bool // cursors WITH HOLD or outside a transaction
}

// Instance is one PgBouncer process of a pooler and what it said last.
type Instance struct {
	Target  string    // as Console.Target; the Reading's own wins
	Reading *Reading  // nil: none yet
	Err     error     // of the last attempt; Reading is then an older one
	At      time.Time // our clock, when that attempt ended
}

// Input is all that Judge looks at. Only Instances is needed.
type Input struct {
	Instances []Instance
	// Snapshot is the server behind the pooler. Backends are told apart when it
	// has Sessions, their blockers when it has Locks.
	Snapshot *probes.Snapshot
	// ServerErr is why there is no newer snapshot. Where it says that the server is
	// full or away, an older Snapshot is not looked at.
	ServerErr error
	// RoleOf names the role of a client; addr is "local" for a Unix socket.
	RoleOf   func(app, user, db, addr string) string
	Spec     PoolerSpec
	Advisory []AdvisoryLock
}

// View is a pooler as the poolers command and the Poolers screen show it. All
// counts are over all instances that answered. A nil pointer is unknown.
type View struct {
	Name      string
	Instances []InstanceView
	Pools     []PoolView // those that wait first, the longest wait on top
	Clients   []ClientView
	Roles     []RoleView // most clients first

	Processes int     // instances, those that are declared and have no console too
	Read      int     // … that the sums are of; where it is 0 the sums are unknown
	OldS      float64 // the greatest age of their figures where a console went away

	ClientsUsed *int // as max_client_conn counts them: console and logins too
	ClientsMax  *int
	Servers     ServerSide
	Findings    []probes.Finding

	own   []probes.Finding // those that no other pooler can share
	stuck []stuck
}

// InstanceName is the pooler's name, with the number of the instance from 1
// where there are several.
func (v *View) InstanceName(i int) string { return v.Name + v.number(i) }

func (v *View) number(i int) string {
	if len(v.Instances) < 2 {
		return ""
	}
	return " " + strconv.Itoa(i+1)
}

// Stale says that the figures of some process are old, or missing.
func (v *View) Stale() bool {
	return slices.ContainsFunc(v.Instances, func(in InstanceView) bool { return in.Err != "" })
}

// Part says of which instances the sums are, and how old, where they are not of
// all and of now; "" too where none was read.
func (v *View) Part() string {
	var parts []string
	if v.Read > 0 && v.Read < v.Processes {
		parts = append(parts, "of "+count(v.Read)+" of "+plural(v.Processes, "instance"))
	}
	if v.OldS > 0 {
		parts = append(parts, "as of "+ago(v.OldS)+" ago")
	}
	return strings.Join(parts, ", ")
}

// InstanceView is one process of the pooler.
type InstanceView struct {
	Target  string
	Version string
	At      time.Time // our clock; zero: never read
	Took    time.Duration
	Err     string // why there is no newer reading; "" there is none missing
	// OldS is the age in seconds of the figures when the last attempt failed; 0
	// for figures of now. Nothing is found in old ones.
	OldS        float64
	Paused      *bool // the whole process; nil before 1.19
	Suspended   *bool
	ClientsUsed *int
	ClientsMax  *int
	Missing     []string
}

// ServerSide sums the connections to PostgreSQL.
type ServerSide struct {
	Now    int
	Active int
	Idle   int  // idle, used and tested: they hold a slot and work for nobody
	Cap    *int // the most that the pools which exist can open; nil unlimited or unknown
	Usable *int // of the server, nil without snapshot or when it serves other servers too
}

// PoolView is one pool of one instance.
type PoolView struct {
	Instance       int // index into View.Instances
	Database, User string
	Server         string // host:port as [databases] has it; "" not known
	Ours           bool   // that is known to be the snapshot's
	ServerDatabase string // the names on the server
	ServerUser     string
	Mode           string

	ClientsActive  int // linked to a server
	ClientsIdle    int // connected and without a query; counted in Pool.ClActive before 1.25 too
	ClientsWaiting int
	CancelsWaiting int
	MaxWaitS       float64

	Active, Idle, Used, Tested, Login int // servers
	Size, Reserve                     int // Size 0 is unlimited
	Paused, Disabled                  bool

	Cause    Cause
	Why      string  // one line: the cause in figures, "" when nobody waits
	Action   string  // what to do about it, or about Refused; "" nothing
	Refused  string  // why the first server connection would be refused now; "" unknown, or it has some
	OldS     float64 // as of its instance
	Use      Use
	Roots    []Root // who holds up the servers that wait for locks
	Backends []Backend

	Away bool // what Refused or Why says is that the server is not there

	refused refusal // what Refused and a Why of ServerRefuses come from
}

// Clients counts the clients that are connected.
func (p *PoolView) Clients() int { return p.ClientsActive + p.ClientsIdle + p.ClientsWaiting }

// Servers counts the pool's connections to PostgreSQL.
func (p *PoolView) Servers() int { return p.Active + p.Idle + p.Used + p.Tested + p.Login }

// Cause is why clients of a pool wait.
type Cause string

// Causes.
const (
	NoCause        Cause = ""
	Full           Cause = "pool-full"       // every server is taken
	Paused         Cause = "paused"          // somebody said PAUSE or SUSPEND
	Disabled       Cause = "disabled"        // somebody said DISABLE
	DatabaseLimit  Cause = "database-limit"  // max_db_connections, shared with other pools
	UserLimit      Cause = "user-limit"      // max_user_connections, shared with other pools
	ServerRefuses  Cause = "server-refuses"  // PostgreSQL has no slot, or a role's or database's limit
	ServerAway     Cause = "server-away"     // PostgreSQL is not there: pgsonde does not reach it either
	LoginHangs     Cause = "login-hangs"     // PostgreSQL does not answer the login
	CannotOpen     Cause = "cannot-open"     // logins fail, and nothing that was read says why
	Opening        Cause = "opening"         // a moment's wait: nothing is wrong yet
	CancelsWaiting Cause = "cancels-waiting" // only requests to cancel wait
)

// Use says what the backends of a pool's active servers do. Unknown counts
// those that the snapshot does not show.
type Use struct {
	Running, Lock, IdleInTx, Client, Idle, Unknown int
	LongestTxS                                     float64 // of those idle in a transaction; 0 none
	LongestQueryS                                  float64
	OldestTx, OldestQuery                          *Backend // whose those are; nil none
}

// Root is who a chain of lock waits ends at.
type Root struct {
	PID     int             // 0: a prepared transaction
	Session *probes.Session // nil: not in the snapshot
	Role    string
	Victims int // servers of this pool that wait for it
}

// Backend is one server connection and its backend.
type Backend struct {
	PID     int
	State   string          // the server's state in PgBouncer
	Session *probes.Session // nil: not in the snapshot, or not this server's
	Client  *Socket         // nil: no client is linked
	Role    string          // of the client; when there is none, of the last one by the backend's stale name
	Doing   Doing
	ForS    float64 // how long, on the server's clock
	Roots   []int
}

// Doing is what a backend does.
type Doing string

// What backends do.
const (
	DoingUnknown  Doing = ""
	DoingQuery    Doing = "running"
	DoingLock     Doing = "waiting for a lock"
	DoingIdleInTx Doing = "idle in transaction"
	DoingClient   Doing = "waiting for its client"
	DoingIdle     Doing = "idle"
)

// ClientView is one client of the pooler.
type ClientView struct {
	Instance int
	Socket   *Socket
	App      string
	AppKnown bool   // before 1.18 only of clients that are linked to a backend
	Role     string // by App "" when that is not known
	Waiting  bool
	WaitS    float64 // waiting clients only
	Server   *Backend
}

// RoleView sums the clients of one role.
type RoleView struct {
	Role                           string
	Clients, Linked, Waiting, Idle int
	MaxWaitS                       float64
	Lock, IdleInTx                 int // of its backends
}
