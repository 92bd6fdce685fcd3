package probes

import "time"

// Locks is one reading of who waits for whom. It is a value like Snapshot:
// what the server said, not yet a judgement; package waits turns it into a
// forest. Everything in it comes from functions that need no privilege but
// Procs, whose times, states and texts a login without pg_read_all_stats sees
// masked.
type Locks struct {
	At      time.Time     // the server's clock; older than Snapshot.At when the panel is late
	Took    time.Duration // wall time of all its statements
	Reading Reading
	// Late is why this is not the newest state: a deadline passed, sessions
	// queue for the lock manager itself. The rest is then the last good reading.
	// It is also why there are no Rows, when the server or its grants never let
	// this login read the lock table.
	Late string
	// Lacks is the privilege without which this login is refused what is not read:
	// "execute on function pg_lock_status"; "" none that is known.
	Lacks string

	// Waits are the answers of pg_blocking_pids: for the oldest waiters at most,
	// each from an instant of its own.
	Waits []LockWait
	// Rows are the lock entries that matter, of one instant (DetailAt): of what somebody
	// waits for, and where that is a relation, strong locks on others. They may
	// be older than At, see DetailAge: by seconds in a ReadDetail, where nobody's
	// answer or statement has changed since, by any time in a ReadEdges.
	Rows       []LockRow
	DetailAt   time.Time     // the server's clock when Rows were read; zero: never
	DetailTook time.Duration // wall time of reading Rows
	// Touched are relation locks, which as a rule nobody waits for, that tell what a
	// wait for a transaction is about: those of who waits for one without the lock
	// of a row, and of those they wait for; and of the tables whose rows are waited
	// for, who may share-lock rows there. Best effort, read seldom.
	Touched []LockRow
	// Untouched: waits for transactions there are, and Touched was not read for these.
	Untouched bool
	// Partial: Rows were read to explain Waits. Of a waiter that came between the
	// two they may lack the holders.
	Partial bool

	Waiting       int // sessions that wait for a heavyweight lock, as activity or the lock table says
	SafeSnapshots []SafeSnapshotWait
	Prepared      []PreparedXact
	Procs         []Session // every backend that waits or blocks, and its parallel workers
	Unled         []int     // masked waiters that may be parallel workers; of which session is not known
	Nested        []int     // of Procs, who have subtransactions that wrote, open or released; 16 and later
	Progress      []Progress
	Names         []ObjectName
	Nameless      bool // names were not to be had in time: one that is not in Names may have one
}

// DetailAge is how much older the lock entries are than the waits.
func (l *Locks) DetailAge() time.Duration {
	if l.DetailAt.IsZero() {
		return 0
	}
	return max(0, l.At.Sub(l.DetailAt))
}

// Reading says which statements a Locks comes from.
type Reading string

// Readings.
const (
	ReadIdle   Reading = "idle"   // the unconditional look found no waiter
	ReadEdges  Reading = "edges"  // Waits are new, Rows are of an earlier tick or missing
	ReadDetail Reading = "detail" // Waits and Rows of the same tick, or nothing changed since that of Rows
	ReadGraph  Reading = "graph"  // Rows only: one queue is too long to ask for each waiter
)

// LockWait is pg_blocking_pids' answer for one waiting backend.
type LockWait struct {
	PID      int
	LockType string // wait_event: relation, transactionid, tuple, …; "" masked
	// Blockers are lock-group leaders, holders and those ahead in the queue, as
	// the server gives them: unordered, with duplicates, 0 for a prepared transaction.
	Blockers []int
}

// LockRow is one entry of the lock table.
type LockRow struct {
	Tag       LockTag
	PID       int    // 0: a prepared transaction
	VXID      string // virtualtransaction: tells prepared transactions apart
	Mode      LockMode
	Granted   bool
	FastPath  bool
	WaitStart time.Time // of this wait; zero: not waiting, or not yet stamped
}

// FirstUser is the oid from which on relations are not of the system's catalogs, whose
// locks do not last as long as their rows'.
const FirstUser = 16384

// Strong reports whether the entry keeps writers, and perhaps readers, from a table or
// index of the users: who holds it, or is to get it before them.
func (r *LockRow) Strong() bool {
	return r.Tag.Type == "relation" && r.Tag.Relation >= FirstUser && r.Mode >= ShareLock
}

// LockTag names what is locked, as the columns of pg_locks do. It is
// comparable; columns that are null for a type are zero.
type LockTag struct {
	Type     string // locktype
	Database uint32 // 0: a shared object, or a transaction
	Relation uint32
	Page     uint32
	Tuple    uint16
	VXID     string // virtualxid
	XID      uint32 // transactionid
	ClassID  uint32
	ObjID    uint32
	ObjSubID uint16
}

// SafeSnapshotWait is a DEFERRABLE transaction that waits until others end.
type SafeSnapshotWait struct {
	PID      int
	Blockers []int
}

// PreparedXact is a prepared transaction that holds a lock somebody waits for,
// or may do so.
type PreparedXact struct {
	XID      uint32
	GID      string
	Owner    string
	Database string
	Prepared time.Time
}

// Progress is how far a utility command is (pg_stat_progress_…).
type Progress struct {
	PID           int
	Database      uint32
	Relation      uint32
	Command       string // CREATE INDEX CONCURRENTLY, REINDEX CONCURRENTLY, VACUUM, CLUSTER, …
	Phase         string
	LockersTotal  int // CREATE INDEX: transactions it waits for in this phase
	LockersDone   int
	CurrentLocker int   // pid
	Lockers       []int // pids of those it still waits for, the current one first: at most, for some may have come later
	Later         []int // pids of those it will wait for in a later phase, if they have not ended by then
	LockersKnown  bool  // Lockers has all of them, and Later
	Done, Total   int64 // blocks, or tuples where the phase counts those; 0 of 0 unknown
}

// ObjectName is the name of something in a LockTag. Class is the catalog's oid:
// pg_class 1259, pg_database 1262, …
type ObjectName struct {
	Database uint32 // 0: shared
	Class    uint32
	OID      uint32
	Name     string // schema.name for relations; quoted as SQL would
	Parent   uint32 // the table of an index; 0 none
	Unique   bool   // an index that keeps keys apart: unique, or of an exclusion constraint
	Late     bool   // … and looks for others once the entry is made: of an exclusion or a deferrable constraint
	Sequence bool
	Triggers bool // a table with triggers of its users
	Children bool // a table with partitions, or that others inherit from, or a view of others
	Tied     bool // a table that foreign keys tie to another
	// Keys are the columns that a table's unique indexes and exclusion constraints depend on,
	// quoted as SQL would, commas between them; a * stands for a generated one, which an
	// update of others may change.
	Keys string
	// Whole are a table's unique keys that tell any two of its rows apart, bars
	// between them, each as its columns, as Keys; "" none, or rows of other tables are its
	// rows, too.
	Whole string
}

// Target is a backend as a person saw it when they decided to end it.
type Target struct {
	PID          int
	BackendStart time.Time
	XactStart    time.Time // zero: it was in no transaction
	QueryStart   time.Time // cancel only
	Victim       int       // must still wait for it, itself or through others; 0: not asked
	Force        bool      // also what is no client's: a walsender, a launcher, an anti-wraparound vacuum
}
