package bouncer

import "time"

// Reading is what one PgBouncer process said at one time. Text is as it was sent,
// not cleaned for a terminal and not always valid UTF-8. A nil pointer is a
// figure that this version does not give. The console's own pool and the clients
// connected to it are left out.
type Reading struct {
	At         time.Time     // our clock when the reading began
	Took       time.Duration // wall time of all commands
	Target     string        // host:port/database or socket path, without password
	Version    string        // 1.18.0
	VersionNum int           // 11800; 0 unknown

	Pools     []Pool
	Clients   []Socket
	Servers   []Socket
	Databases []Database
	Users     []User
	Stats     []Stat
	Config    map[string]string
	Lists     map[string]int
	State     *State // 1.19+

	// Missing are commands that this version refused and columns that it did not
	// have though every version before did, as "SHOW STATS: …" and "POOLS.sv_used".
	Missing []string
}

// Pool is the servers of one database and user.
type Pool struct {
	Database, User  string
	ClActive        int // linked to a server, or idle
	ClWaiting       int // sent a query and have no server yet
	ClActiveCancel  *int
	ClWaitingCancel *int // cancel requests that wait for a server
	SvActive        int
	SvIdle          int // ready at once
	SvUsed          int // idle for longer, to be checked before the next use
	SvTested        int
	SvLogin         int
	SvActiveCancel  *int
	SvBeingCanceled *int
	MaxWaitS        float64 // age of the first waiting client's query; 0 while that waits in its login
	Mode            string  // session, transaction, statement
	LoadBalance     *string
}

// Servers counts the connections to PostgreSQL that the pool's size limits.
func (p Pool) Servers() int {
	return p.SvActive + p.SvIdle + p.SvUsed + p.SvTested + p.SvLogin + value(p.SvActiveCancel) + value(p.SvBeingCanceled)
}

// stateWaiting is the state of a client that waits for a server connection.
const stateWaiting = "waiting"

// Socket is a client or a server connection.
type Socket struct {
	User, Database string
	State          string // active, waiting, idle, used, tested, new, login, …
	Addr           string // of the other end; "unix" for a Unix socket
	Port           int
	LocalAddr      string
	LocalPort      int
	AgeS           float64 // since it connected, in whole seconds
	// WaitS is the age of the current query, or of a login that waits. Only of a
	// client that is waiting is it time spent waiting.
	WaitS       float64
	CloseNeeded bool
	Ptr, Link   string // Link is the Ptr of the other side, "" none
	RemotePID   int    // of a server: the backend's pid
	TLS         string
	App         *string // 1.18+
	Prepared    *int    // 1.21+
	Replication *string // 1.23+: none, logical, physical
	ID          *int64  // 1.24+

	connected, requested time.Time // PgBouncer's clock, in an unknown zone
}

// Database is an entry of [databases].
type Database struct {
	Name           string // the name clients use
	Host           string // "" is a Unix socket
	Port           int
	Database       string // the name on the server
	ForceUser      string
	PoolSize       int // 0 is unlimited
	MinPoolSize    *int
	Reserve        int
	ServerLifetime *int // seconds
	Mode           string
	LoadBalance    *string
	MaxConnections int // 0 is unlimited
	Connections    int
	MaxClients     *int
	Clients        *int
	Paused         bool
	Disabled       bool
}

// User is a user that PgBouncer knows. Sizes are nil unless set for the user.
type User struct {
	Name           string
	Mode           string
	PoolSize       *int
	Reserve        *int
	MaxConnections *int // 0 is unlimited
	Connections    *int
	MaxClients     *int
	Clients        *int
}

// Stat is a database's totals since the start, by column name.
type Stat struct {
	Database string
	Values   map[string]int64
}

// State is what SHOW STATE says of the whole process.
type State struct{ Active, Paused, Suspended bool }

func value(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}
