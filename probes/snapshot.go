package probes

import "time"

// Snapshot is what one tick read from one server. It is a value: nobody
// changes it after the sampler returned it, and everything that judges
// (budget, waits, triage) is a pure function of it. Text in it is what the
// server sent, decoded to UTF-8 but not cleaned for a terminal.
type Snapshot struct {
	Seq    int64     // counts ticks of one sampler, from 1
	At     time.Time // the server's clock_timestamp() of this reading
	Server Server    // who answers, read with the tick or on the slow clock
	Limits Limits    // slow clock
	Groups []Group   // every backend but our own, grouped on the server
	// Sessions holds the rows that were asked for (Want), clipped texts
	// included; nil when none were asked for.
	Sessions []Session
	// SessionsTotal counts the rows that matched Want before its limit.
	SessionsTotal int
	Locks         *Locks // nil: the lock manager was not read, nobody waited
	Cost          Cost
	// Opened are the readings of the last minutes, oldest first; none before 14.
	Opened []Opened
	// Refused is what the server said when it last had no slot for pgsonde's own
	// second connection; "" when it had, or was not asked.
	Refused string
	// Notes are facts about the reading that a person must know: reconnected,
	// server restarted, failover, a late panel.
	Notes []Note
}

// Note is a fact about the reading itself.
type Note struct {
	At   time.Time // the server's clock; zero when no server was there to ask
	Text string
}

// Cost is what the reading cost the server and us.
type Cost struct {
	Connections int           // connections that pgsonde holds now
	RoundTrip   time.Duration // wall time of the tick's one message
	Bytes       int64         // bytes of result rows of this tick
}

// Server says who answered.
type Server struct {
	VersionNum  int    // 160014
	Version     string // "16.14"
	Target      string // host:port/database or socket path, without password
	User        string // the role we are logged in as
	Database    string
	InRecovery  bool
	ReadOnly    bool // default_transaction_read_only
	Started     time.Time
	Pooled      bool // our own connection goes through a pooler
	Masked      bool // no pg_read_all_stats: other roles' rows are masked
	Superuser   bool
	CanSignal   bool // member of pg_signal_backend, or superuser
	CanReserved bool // may use reserved_connections (16+), or superuser
	PlainTCP    bool // unencrypted TCP to a host that is not loopback
	CPUs        int  // 0: unknown
	OwnPIDs     []int
}

// Limits is what the server lets in. Counts; -1 means unlimited.
type Limits struct {
	MaxConnections    int
	SuperuserReserved int
	Reserved          int // reserved_connections, 16+; 0 before
	MaxWalSenders     int
	ReservedUsers     []string // login roles that may use the reserved slots
	Roles             []RoleLimit
	NoLogin           []string // roles that may not log in, but PostgreSQL's own
	Databases         []DatabaseLimit
	Settings          map[string]string // settings that matter, as SHOW prints them
	RoleSettings      []RoleSetting     // pg_db_role_setting
}

// Usable is what an ordinary role can have: max_connections less what is kept
// for superusers and for pg_use_reserved_connections.
func (l Limits) Usable() int { return l.MaxConnections - l.SuperuserReserved - l.Reserved }

// RoleLimit is a login role's CONNECTION LIMIT.
type RoleLimit struct {
	Name        string
	OID         uint32
	ConnLimit   int
	Superuser   bool
	Replication bool
	Member      bool // our own role is a member of it, or superuser
}

// DatabaseLimit is a database's CONNECTION LIMIT.
type DatabaseLimit struct {
	Name      string
	OID       uint32
	ConnLimit int
	Encoding  string // pg_encoding_to_char(encoding)
}

// RoleSetting is one default of ALTER ROLE or ALTER DATABASE … SET. An empty
// Role or Database means any.
type RoleSetting struct{ Role, Database, Name, Value string }

// Kinds of Group and Session that pgsonde itself names; all others are
// pg_stat_activity's backend_type.
const (
	KindClient       = "client backend"
	KindMasked       = "masked"        // a row that may be a client backend: an upper bound
	KindMaskedSystem = "masked-system" // a masked row without a user or database
)

// Group is a set of backends that agree on all of its text fields.
type Group struct {
	Kind     string // backend_type or Kind…
	Database string // empty: none; "oid 16386 (dropped)" when it has no name
	User     string
	App      string
	Addr     string // client address without port; "local" for a Unix socket; "" when masked
	State    string // active, idle, idle in transaction, …; "" when masked
	Act      string // active only: run, lock, client (waits for its client), other
	N        int
	// Ages on the server's clock in seconds, the largest of the group; -1 unknown
	// (masked or not in such a state).
	MaxTxS      float64
	MaxQueryS   float64 // active only
	MaxInStateS float64
	OldestStart time.Time // backend_start; zero when masked
	NewestStart time.Time
	WaitS       float64 // longest wait for a heavyweight lock by query_start; -1 none
}

// Session is one backend. Zero times are unknown (masked) or not applicable.
type Session struct {
	PID           int
	BackendStart  time.Time
	Kind          string
	DatabaseOID   uint32
	UserOID       uint32
	Database      string
	User          string
	App           string
	Addr          string
	Port          int
	State         string
	WaitEventType string
	WaitEvent     string
	XactStart     time.Time
	QueryStart    time.Time
	StateChange   time.Time
	XID           string // backend_xid
	XMin          string // backend_xmin
	LeaderPID     int    // 0 none
	Query         string // clipped on the server to Want.QueryBytes
	QueryClipped  bool
}

// BackendID is the identity that survives pid reuse: PID@backend_start in µs
// since the epoch, "" when backend_start is masked.
func (s Session) BackendID() string { return BackendID(s.PID, s.BackendStart) }

// Want says which sessions a tick should bring besides the groups. The zero
// value asks for none: then a tick's cost grows with the groups, not with the
// sessions.
type Want struct {
	Sessions   bool // rows of client backends, oldest backend_start first
	AllKinds   bool // … and of every other kind of backend
	Limit      int  // rows at most; 0 means 500
	QueryBytes int  // the server clips query texts to this; 0 means 200
	FullPID    int  // this backend's text comes with up to 1 MB; 0 none
	// Locks asks for lock detail now (a node was opened), besides what the
	// sampler reads by itself.
	Locks bool
}
