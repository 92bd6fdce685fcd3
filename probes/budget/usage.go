package budget

import "github.com/pgsonde/pgsonde/probes"

// Usage is the live use of a server held against a budget: what the roles
// command and the Roles screen show. Counts are client backends.
type Usage struct {
	MaxConnections    int
	SuperuserReserved int
	Reserved          int
	ProviderReserved  int  // from the file; the server does not tell; of the plan alone
	Usable            int  // by the server's own figures
	Used              int  // client backends, pgsonde's own included
	Bound             bool // masked: Used and all counts are upper bounds, shown as "≤ n"
	Hidden            *int // slots taken that pg_stat_activity does not show; nil unknown
	Free              int  // usable − used, at least 0
	KeepFree          int
	Running           *int // active and not waiting for a lock or the client; nil masked
	CPUs              int  // 0 unknown
	Rows              []Row
	Findings          []probes.Finding
	// Plan is the file's base added up with the limits of this server and of the
	// poolers whose consoles were read; nil without a file.
	Plan *Sum

	file    *File // with the poolers' live figures; nil without one
	lim     probes.Limits
	poolers []probes.Pooler
	walls   []wall
}

// Caps are the roles' caps; a role without one is not in it.
func (u *Usage) Caps() map[string]int {
	caps := map[string]int{}
	for _, r := range u.Rows {
		if r.Cap != nil {
			caps[r.Role] = *r.Cap
		}
	}
	return caps
}

// Origin says why a row is there.
type Origin string

// Origins of a Row.
const (
	Declared  Origin = "declared"  // in the file
	Captured  Origin = "captured"  // {role} of the match pattern, not in the file
	BuiltIn   Origin = "built-in"  // operators, system: pgsonde's own rules
	Pooler    Origin = "pooler"    // server side of a declared pooler
	Unmatched Origin = "unmatched" // everything else
)

// Row is one role's live use. A nil pointer is unknown or not applicable.
type Row struct {
	Role        string
	Origin      Origin
	Runs        string // always, job, manual, off; "" undeclared
	Via         string // pooler it connects through
	Pods        *int   // distinct client addresses; nil masked
	Replicas    *int   // declared
	Now         int
	Busy        *int // not idle
	Idle        *int
	IdleInTx    *int
	Running     *int // active, not waiting for a lock or its client
	LockWaiting *int
	Kept, Cap   *int
	Peak        *int     // cap with the declared surge
	OldestTxS   *float64 // seconds
	PodsFull    []Pod
	AllPods     []Pod // by address
	Over        bool  // now > cap
	Note        string
}

// Pod is one client address of a role.
type Pod struct {
	Addr string
	Now  int
	Busy int
	Cap  int // per process × processes; 0 unknown
}
