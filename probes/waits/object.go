package waits

import (
	"fmt"
	"strconv"

	"github.com/pgsonde/pgsonde/probes"
)

// Catalog oids that lock tags name; the same in every server.
const (
	classRelation     = 1259
	classDatabase     = 1262
	classNamespace    = 2615
	classRole         = 1260
	classSubscription = 6100
)

type nameKey struct {
	db, class, oid uint32
}

type names map[nameKey]*probes.ObjectName

func newNames(l *probes.Locks) names {
	n := make(names, len(l.Names))
	for i := range l.Names {
		o := &l.Names[i]
		n[nameKey{o.Database, o.Class, o.OID}] = o
	}
	return n
}

func (n names) get(db, class, oid uint32) string {
	if o := n[nameKey{db, class, oid}]; o != nil {
		return o.Name
	}
	return ""
}

// relation names a relation; one of another database, or dropped meanwhile, is
// shown by its oid.
func (n names) relation(db, oid uint32) string {
	if s := n.get(db, classRelation, oid); s != "" {
		return s
	}
	s := "relation " + u(oid)
	if d := n.get(0, classDatabase, db); d != "" {
		s += " of database " + d
	}
	return s
}

// Objects puts tags in words by the names of a reading: what an opened session
// holds (Sampler.LocksOf).
func Objects(l *probes.Locks) func(probes.LockTag) string { return newNames(l).object }

// words names what a wait is for.
func (f *Forest) words(w *wait) string {
	if w.shape.Type == "transactionid" {
		if row, ok := f.g.row[w.pid]; ok {
			return f.names.object(row)
		}
		if key := f.key(w); key != "" {
			return key
		}
	}
	if w.shape.Type == safeSnapshot {
		return "a " + safeSnapshot
	}
	if w.obj == nil {
		return f.names.object(*w.shape)
	}
	return w.obj.words
}

// object puts a tag in words, "" when only its type is known.
func (n names) object(t probes.LockTag) string {
	if t == (probes.LockTag{Type: t.Type}) {
		return ""
	}
	switch t.Type {
	case "relation":
		return n.relation(t.Database, t.Relation)
	case "extend":
		return "extension of " + n.relation(t.Database, t.Relation)
	case "frozenid":
		return "frozen xid of database " + n.database(t.Database)
	case "page":
		return fmt.Sprintf("page %d of %s", t.Page, n.relation(t.Database, t.Relation))
	case "tuple":
		return fmt.Sprintf("row (%d,%d) of %s", t.Page, t.Tuple, n.relation(t.Database, t.Relation))
	case "transactionid":
		return "transaction " + u(t.XID)
	case "virtualxid":
		return "virtual transaction " + t.VXID
	case "spectoken":
		return specToken(t)
	case "advisory":
		return advisory(t)
	case "applytransaction":
		kind := "streamed part"
		if t.ObjSubID == 1 {
			kind = "commit"
		}
		return fmt.Sprintf("%s of remote transaction %d, subscription %s", kind, t.XID, n.or(t.Database, classSubscription, t.ObjID))
	case "object":
		return n.catalogObject(t)
	}
	return fmt.Sprintf("%s %d/%d/%d", t.Type, t.ClassID, t.ObjID, t.ObjSubID)
}

func (n names) catalogObject(t probes.LockTag) string {
	switch t.ClassID {
	case classDatabase:
		if t.ObjID == 0 {
			return "NOTIFY queue (commit lock)"
		}
		return "database " + n.database(t.ObjID)
	case classNamespace:
		return "schema " + n.or(t.Database, classNamespace, t.ObjID)
	case classRole:
		return "role " + n.or(0, classRole, t.ObjID)
	case classSubscription:
		return "subscription " + n.or(0, classSubscription, t.ObjID)
	}
	if s := n.get(t.Database, t.ClassID, t.ObjID); s != "" {
		return s
	}
	class := n.get(t.Database, classRelation, t.ClassID)
	if class == "" {
		class = "catalog " + u(t.ClassID)
	}
	return class + " object " + u(t.ObjID)
}

func (n names) database(oid uint32) string { return n.or(0, classDatabase, oid) }

func (n names) or(db, class, oid uint32) string {
	if s := n.get(db, class, oid); s != "" {
		return s
	}
	if s := n.get(0, class, oid); s != "" {
		return s
	}
	return u(oid)
}

// advisory shows the key as the application wrote it: one signed bigint
// (objsubid 1) or two signed ints (objsubid 2).
func advisory(t probes.LockTag) string {
	if t.ObjSubID == 1 {
		return "advisory key " + strconv.FormatInt(int64(uint64(t.ClassID)<<32|uint64(t.ObjID)), 10)
	}
	return fmt.Sprintf("advisory key (%d,%d)", int32(t.ClassID), int32(t.ObjID))
}

// specToken: 14 and 15 show the xid as database and the token as classid.
func specToken(t probes.LockTag) string {
	xid, token := t.XID, t.ObjID
	if xid == 0 {
		xid, token = t.Database, t.ClassID
	}
	return fmt.Sprintf("speculative insertion %d of transaction %d", token, xid)
}

// RowStrength is the row lock that a heavyweight tuple lock stands for: how
// strong its owner wants the row. "" for another kind of lock.
func RowStrength(t probes.LockTag, m probes.LockMode) string {
	if t.Type != "tuple" {
		return ""
	}
	switch m {
	case probes.AccessShareLock:
		return "FOR KEY SHARE"
	case probes.RowShareLock:
		return "FOR SHARE"
	case probes.ExclusiveLock:
		return "FOR NO KEY UPDATE"
	case probes.AccessExclusiveLock:
		return "FOR UPDATE"
	}
	return ""
}

func u(n uint32) string { return strconv.FormatUint(uint64(n), 10) }
