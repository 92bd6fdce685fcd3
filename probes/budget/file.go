package budget

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

// File is a budget: what a server's connections are meant to be used for.
// Nobody changes it after Parse. A nil *File is a budget that declares nothing.
type File struct {
	Name      string // as given to Parse, for messages
	Server    ServerDecl
	KeepFree  int    // slots that operators (psql, pg_dump, pgsonde) find free; 3 unless declared
	Capture   string // application_name pattern with {role}; "" none
	Roles     []*Role
	Poolers   []*PoolerDecl
	Settings  []Contract // of "default" and of roles, in file order
	Scenarios []NamedScenario

	capture   *pattern
	keepGiven bool             // keep_free was given
	never     []probes.Finding // roles that no session can be of
}

// ServerDecl is the file's server section. The live server's own figures win
// over it where there is one, except ProviderReserved, which no server tells.
type ServerDecl struct {
	MaxConnections    int // PostgreSQL's default 100 unless declared
	SuperuserReserved int // 3 unless declared
	Reserved          int // reserved_connections, 16+
	ProviderReserved  int // slots that a managed service keeps for itself
	CPUs              int // 0 unknown
	Version           int // major; 0 unknown

	declared map[string]int // what the file says, by key: the value
}

// onServer is the file's server with the limits of a live one, where those are
// known. A provider's slots that such a server cannot keep, since its others are
// fewer, are of another server: they are left out, and told.
func (s ServerDecl) onServer(lim probes.Limits) (out ServerDecl, told bool) {
	if lim.MaxConnections > 0 {
		s.MaxConnections, s.SuperuserReserved, s.Reserved = lim.MaxConnections, lim.SuperuserReserved, lim.Reserved
	}
	if s.ProviderReserved > 0 && s.usable() <= 0 {
		s.ProviderReserved, told = 0, true
	}
	return s, told
}

// defaultKeepFree is what operators need when the file does not say: as many as
// PostgreSQL keeps for superusers.
const defaultKeepFree = 3

// Runs says when a role's processes exist.
type Runs string

// When a role runs.
const (
	RunsAlways Runs = "always"
	RunsJob    Runs = "job"    // comes and goes by a schedule; part of the peak
	RunsManual Runs = "manual" // started by a person; listed, never added
	RunsOff    Runs = "off"    // declared, but switched off
)

// Role is one application role of the file.
type Role struct {
	Name        string
	Line        int
	Kind        string         // pool kind by its first name
	Params      map[string]int // the kind's parameters that were given, by first name
	Processes   int            // in each replica
	Replicas    int
	Extra       []Extra // connections outside the pool
	Surge       Surge
	Runs        Runs
	Group       string // of its members only one runs at a time
	Concurrency int    // of a job, or of what is started by hand: how many at once
	Via         string // pooler it connects through
	Expect      []string

	kind          kind
	contract      Contract
	replicasGiven bool
	atOnce        bool   // concurrency was given
	match         []rule // explicit match
	also          []rule // more names of the same role
}

// Extra is a named number of connections that each process opens outside its
// pool, such as a LISTEN connection.
type Extra struct {
	Name string
	N    int
}

// Surge is how many replicas come on top during a deploy.
type Surge struct {
	Declared bool
	N        int
	Percent  bool // N is a percentage of the replicas, rounded up
}

// replicas is the surge of n replicas. Undeclared it is Kubernetes' default
// maxSurge, 25 %, which is rounded up. Nothing surges where nothing runs.
func (s Surge) replicas(n int) int {
	switch {
	case n == 0:
		return 0
	case !s.Declared:
		return ceilPercent(25, n)
	case s.Percent:
		return ceilPercent(s.N, n)
	}
	return s.N
}

func ceilPercent(p, n int) int { return add(mul(p, n), 99) / 100 }

// PoolerDecl is a connection pooler of the file.
type PoolerDecl struct {
	Name               string
	Line               int
	Kind               string // pgbouncer, supavisor
	Mode               string // session, transaction, statement
	Instances          int
	MaxClientConn      int // of each instance
	MaxDBConnections   int // 0 unlimited
	MaxUserConnections int // 0 unlimited
	Pools              []Pool
	Consoles           []string // connection strings of the admin consoles, one of each instance

	match []rule
	// Limits of one database or user that the file or a console tells, over the two
	// above.
	mostOfDB, mostOfUser map[string]int
}

// Pool is one pool of a pooler: servers of one database and user.
type Pool struct {
	Name           string // database@user
	Database, User string
	Size           int
	Reserve        int
	Min            int
}

// Contract is the settings of one role, or of all ("default"). Zero means not
// declared.
type Contract struct {
	Role              string
	Line              int
	ConnectWait       time.Duration
	StatementTimeout  time.Duration
	LockTimeout       time.Duration
	QueryTimeout      time.Duration
	ClientTimeout     time.Duration
	IdleInTransaction time.Duration
	TransactionTime   time.Duration // transaction_timeout
	Deadline          time.Duration
	PoolIdle          time.Duration // age at which the pool closes an idle connection
	PoolLifetime      time.Duration // age at which the pool closes any connection
}

// NamedScenario is a scenario of the file.
type NamedScenario struct {
	Name  string
	Line  int
	Items []string
}

// Empty: it declares nothing at all.
func (f *File) Empty() bool {
	return f == nil || len(f.Roles)+len(f.Poolers)+len(f.Settings)+len(f.Scenarios)+len(f.Server.declared) == 0 && f.capture == nil && !f.keepGiven
}

// Role is the declared role of that name, nil when there is none.
func (f *File) Role(name string) *Role {
	if f == nil {
		return nil
	}
	for _, r := range f.Roles {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// Pooler is the declared pooler of that name, nil when there is none.
func (f *File) Pooler(name string) *PoolerDecl {
	if f == nil {
		return nil
	}
	for _, p := range f.Poolers {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// Contract is what the file promises for a role: its own settings over those of
// "default".
func (f *File) Contract(role string) Contract {
	if f == nil {
		return Contract{Role: role}
	}
	if r := f.Role(role); r != nil {
		return r.contract
	}
	return f.contractOf(role)
}

// contractOf works a contract out.
func (f *File) contractOf(role string) Contract {
	out := Contract{Role: role}
	for _, name := range []string{"default", role} {
		for _, c := range f.Settings {
			if c.Role == name {
				out.override(c)
			}
		}
	}
	return out
}

func (f *File) keepFree() int {
	if f == nil {
		return defaultKeepFree
	}
	return f.KeepFree
}

// Load reads and parses a budget file. Errors are *FileError or FileErrors, but
// for a missing file, which also is fs.ErrNotExist.
func Load(path string) (*File, error) {
	file, err := os.Open(path)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, fmt.Errorf("reading budget %s: %w", path, err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("reading budget %s: %w", path, err)
	}
	if len(data) > maxFileBytes {
		return nil, &FileError{File: path, Msg: "larger than 1 MB; a budget is a short text"}
	}
	return Parse(path, data)
}
