package bouncer

import (
	"fmt"
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

// AdvisoryLock is a granted session-level advisory lock on a backend that is
// idle and in no transaction.
type AdvisoryLock struct {
	PID          int
	BackendStart time.Time // zero: masked
	UserOID      uint32
	DatabaseOID  uint32
	App          string // behind a pooler the name of the last client, not of who took the lock
	Addr         string // "local" for a Unix socket
	Port         int
	ClassID      uint32
	ObjID        uint32
	ObjSubID     int
	Mode         string
	IdleS        float64 // since the backend became idle; -1 unknown
}

// Key is the lock's number as the SQL functions take it: one bigint, or two
// integers in parentheses.
func (a AdvisoryLock) Key() string {
	if a.ObjSubID == 1 {
		return fmt.Sprint(int64(uint64(a.ClassID)<<32 | uint64(a.ObjID)))
	}
	return fmt.Sprintf("(%d, %d)", int32(a.ClassID), int32(a.ObjID))
}

// AdvisoryStatement names the statement of package probes that reads the locks;
// its rows are for AdvisoryLocks. It reads the lock manager: run it rarely and
// not while sessions queue for the lock manager itself.
const AdvisoryStatement = "advisory_idle"

// AdvisoryLocks reads the rows of AdvisoryStatement.
func AdvisoryLocks(rows *probes.Rows) []AdvisoryLock {
	var out []AdvisoryLock
	for rows.Next() {
		db := rows.OID(3)
		out = append(out, AdvisoryLock{
			PID: rows.Int(0), BackendStart: rows.Time(1), UserOID: rows.OID(2), DatabaseOID: db,
			App: rows.TextOf(db, 4), Addr: rows.Text(5), Port: rows.Int(6),
			ClassID: rows.OID(7), ObjID: rows.OID(8), ObjSubID: rows.Int(9), Mode: rows.Text(10),
			IdleS: rows.Seconds(11, -1),
		})
	}
	return out
}
