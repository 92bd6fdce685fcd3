package probes

import (
	"runtime"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// serverState is what is known about the server beyond one tick.
type serverState struct {
	server Server
	limits Limits
	roles  map[uint32]string
	dbs    map[uint32]string
	gone   map[uint32]bool // oids that had no name when the names were read
	seen   map[uint32]bool // oids without a name since then
	last   identity
	at     time.Time // the server's clock of the last tick
	conf   time.Time // pg_conf_load_time
}

// adopt takes what a new connection said.
func (st *serverState) adopt(t *target, pg *pgconn.PgConn, h hello) {
	old := st.server
	st.server = Server{
		VersionNum: h.versionNum, Version: h.version, Target: t.name(), User: h.user, Database: h.database,
		InRecovery: h.inRecovery, ReadOnly: h.readOnly, Started: h.started, Pooled: h.pooled, Masked: !h.readsAll,
		Superuser: h.superuser, CanSignal: h.signals, CanReserved: h.reserved, PlainTCP: overPlainTCP(pg),
		OwnPIDs: old.OwnPIDs,
	}
	if onThisHost(pg) && !h.pooled {
		st.server.CPUs = runtime.NumCPU()
	}
}

// role is the name of a role, whatever became of it.
func (st *serverState) role(oid uint32) string { return st.name(st.roles, oid) }

// database is the name of a database, whatever became of it.
func (st *serverState) database(oid uint32) string { return st.name(st.dbs, oid) }

func (st *serverState) name(m map[uint32]string, oid uint32) string {
	if oid == 0 {
		return ""
	}
	if n, ok := m[oid]; ok {
		return n
	}
	n := "oid " + strconv.FormatUint(uint64(oid), 10)
	if st.gone[oid] {
		n += " (dropped)"
	}
	return n
}

// knows says whether both oids have a name, or never will.
func (st *serverState) knows(db, role uint32) bool {
	_, d := st.dbs[db]
	_, r := st.roles[role]
	d, r = d || db == 0 || st.gone[db], r || role == 0 || st.gone[role]
	if d && r {
		return true
	}
	if st.seen == nil {
		st.seen = map[uint32]bool{}
	}
	st.seen[db], st.seen[role] = true, true
	return false
}
