package probes

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Catalogs whose rows lock tags name by oid.
const (
	classRelation     = 1259
	classDatabase     = 1262
	classRole         = 1260
	classNamespace    = 2615
	classSubscription = 6100
)

const (
	nameTimeout = time.Second
	nameTTL     = 5 * time.Minute // a relation may be renamed
	nameRetry   = 10 * time.Second
)

// mostStrong relations that nobody waits for are named.
const mostStrong = 100

// nameCache keeps names of what locks are about. Names come best effort: the
// statement that reads them may itself have to wait for somebody's DDL.
type nameCache struct {
	known map[ObjectName]cachedName // key: an ObjectName without its name
	pause time.Time                 // no attempt before
}

type cachedName struct {
	name ObjectName
	read time.Time
}

// extras adds what explains a reading. Nothing of it is needed for the edges:
// what does not come in time is left out.
func (r *lockReader) extras(ctx context.Context, l *Locks) {
	for i := range l.Rows {
		if l.Rows[i].PID == 0 {
			r.prepared(ctx, l)
			break
		}
	}
	if len(l.Prepared) == 0 {
		for i := range l.Waits {
			if slices.Contains(l.Waits[i].Blockers, 0) {
				r.prepared(ctx, l)
				break
			}
		}
	}
	if utilityAtWork(l) {
		r.progress(ctx, l)
		r.delays(ctx, l)
	}
	r.touch(ctx, l)
	r.nested(ctx, l)
	matters, strong := map[LockTag]bool{}, 0
	for i := range l.Rows {
		x := &l.Rows[i]
		if x.Strong() && x.Granted {
			if strong++; strong <= mostStrong {
				matters[x.Tag] = true
			}
		}
		if !x.Granted {
			matters[x.Tag] = true
		}
	}
	r.resolve(ctx, l, func(t LockTag) bool { return matters[t] || t.Type == "tuple" })
	l.Nameless = l.Nameless || strong > mostStrong
}

// nested looks which of those who may keep locks have subtransactions.
func (r *lockReader) nested(ctx context.Context, l *Locks) {
	pids := mayKeep(l)
	if len(pids) == 0 {
		return
	}
	rows, err := r.run(ctx, nameTimeout, "locks_nested", pids)
	if err != nil {
		return
	}
	for rows.Next() {
		l.Nested = append(l.Nested, rows.Int(0))
	}
}

// mayKeep are those whose statement a cancel could end and leave locked what others
// wait for: they run, in an older transaction, and block somebody. Most of those who
// wait block nobody, and asking reads all of activity once more.
func mayKeep(l *Locks) []int {
	contended, blocks := map[LockTag]bool{}, map[int]bool{}
	for i := range l.Rows {
		if !l.Rows[i].Granted {
			contended[l.Rows[i].Tag] = true
		}
	}
	for i := range l.Rows {
		if x := &l.Rows[i]; x.Granted && contended[x.Tag] {
			blocks[x.PID] = true
		}
	}
	for i := range l.Waits {
		for _, pid := range l.Waits[i].Blockers {
			blocks[pid] = true
		}
	}
	var out []int
	for i := range l.Procs {
		if p := &l.Procs[i]; blocks[p.PID] && p.State == "active" && !p.XactStart.IsZero() && p.XactStart.Before(p.QueryStart) {
			out = append(out, p.PID)
		}
	}
	return out
}

func (r *lockReader) prepared(ctx context.Context, l *Locks) {
	rows, err := r.run(ctx, nameTimeout, "locks_prepared")
	if err != nil {
		return
	}
	for rows.Next() {
		p := PreparedXact{XID: rows.OID(0), GID: rows.Text(1), Prepared: rows.Time(2)}
		p.Database, p.Owner = r.name(rows.OID(4), rows.OID(3))
		l.Prepared = append(l.Prepared, p)
	}
}

// utilityAtWork says whether a command that reports its progress is involved.
func utilityAtWork(l *Locks) bool {
	for i := range l.Rows {
		if !l.Rows[i].Granted && l.Rows[i].Tag.Type == "virtualxid" {
			return true
		}
	}
	for i := range l.Procs {
		q := strings.ToLower(strings.TrimSpace(l.Procs[i].Query))
		for _, word := range []string{"vacuum", "create", "reindex", "cluster", "autovacuum", "alter", "refresh"} {
			if strings.HasPrefix(q, word) {
				return true
			}
		}
	}
	return false
}

func (r *lockReader) progress(ctx context.Context, l *Locks) {
	rows, err := r.run(ctx, nameTimeout, "locks_progress")
	if err != nil {
		return
	}
	involved := map[int]bool{}
	for i := range l.Procs {
		involved[l.Procs[i].PID] = true
	}
	for rows.Next() {
		if involved[rows.Int(1)] {
			l.Progress = append(l.Progress, progressOf(rows))
		}
	}
}

func progressOf(r *Rows) Progress {
	p := Progress{PID: r.Int(1), Database: r.OID(2), Relation: r.OID(3)}
	a, b, c, h := r.Int64(4), r.Int64(5), r.Int64(6), r.Int64(10)
	switch r.Text(0) {
	case "VACUUM":
		p.Command, p.Phase = "VACUUM", nth(a, "initializing", "scanning heap", "vacuuming indexes", "vacuuming heap",
			"cleaning up indexes", "truncating heap", "performing final cleanup")
		p.Total, p.Done = b, c
	case "INDEX":
		p.Command = nth(h, "", "CREATE INDEX", "CREATE INDEX CONCURRENTLY", "REINDEX", "REINDEX CONCURRENTLY")
		p.Phase = nth(a, "initializing", "waiting for writers before build", "building index", "waiting for writers before validation",
			"index validation: scanning index", "index validation: sorting tuples", "index validation: scanning table",
			"waiting for old snapshots", "waiting for readers before marking dead", "waiting for readers before dropping")
		p.Total, p.Done = b, c
		p.LockersTotal, p.LockersDone, p.CurrentLocker = int(r.Int64(7)), int(r.Int64(8)), int(r.Int64(9))
	case "CLUSTER":
		p.Command = nth(h, "", "CLUSTER", "VACUUM FULL")
		p.Phase = nth(a, "initializing", "seq scanning heap", "index scanning heap", "sorting tuples", "writing new heap",
			"swapping relation files", "rebuilding index", "performing final cleanup")
		p.Total, p.Done = b, c
	}
	return p
}

func nth(n int64, names ...string) string {
	if n < 0 || int(n) >= len(names) {
		return "phase " + strconv.FormatInt(n, 10)
	}
	return names[n]
}

// resolve names what the tags that matter are about, from the cache and, for
// what is not there, with one statement.
func (r *lockReader) resolve(ctx context.Context, l *Locks, matters func(LockTag) bool) {
	if r.names.known == nil {
		r.names.known = map[ObjectName]cachedName{}
	}
	want := wantedNames(l, matters)
	missing := map[uint32][]uint32{}
	for k := range want {
		switch {
		case k.Class == classDatabase:
			name, _ := r.name(k.OID, 0)
			l.Names = append(l.Names, ObjectName{Class: k.Class, OID: k.OID, Name: name})
		case k.Class == classRole:
			_, name := r.name(0, k.OID)
			l.Names = append(l.Names, ObjectName{Class: k.Class, OID: k.OID, Name: name})
		default:
			c, ok := r.names.known[k]
			if ok && c.name.Name != "" {
				l.Names = append(l.Names, c.name)
			}
			if !ok || l.At.Sub(c.read) > nameTTL {
				missing[k.Class] = append(missing[k.Class], k.OID)
			}
		}
	}
	if len(missing) > 0 {
		l.Nameless = l.At.Before(r.names.pause) || !r.fetchNames(ctx, l, want, missing)
	}
}

// fetchNames asks for names, and reports whether they came.
func (r *lockReader) fetchNames(ctx context.Context, l *Locks, want map[ObjectName]bool, missing map[uint32][]uint32) bool {
	list := func(class uint32) []uint32 { return append([]uint32{}, missing[class]...) }
	rows, err := r.run(ctx, nameTimeout, "locks_names", list(classRelation), list(classNamespace), list(classSubscription))
	if err != nil {
		r.names.pause = l.At.Add(nameRetry)
		return false
	}
	found := map[ObjectName]ObjectName{}
	for rows.Next() {
		k := ObjectName{Class: rows.OID(0), OID: rows.OID(1)}
		o := k
		o.Name, o.Parent, o.Unique = rows.Text(2), rows.OID(3), rows.Bool(4)
		o.Sequence, o.Triggers = rows.Text(5) == "S", rows.Bool(6)
		o.Late, o.Keys, o.Whole = rows.Bool(7), rows.Text(8), rows.Text(9)
		o.Children, o.Tied = rows.Bool(10), rows.Bool(11)
		found[k] = o
	}
	for k := range want {
		if !slices.Contains(missing[k.Class], k.OID) {
			continue
		}
		bare := k
		bare.Database = 0
		o, ok := found[bare]
		o.Database = k.Database
		// Of another database an oid says nothing here: a relation of ours may have
		// the same. The empty name is kept so that it is not asked for again.
		if !ok || k.Database != 0 && k.Database != rows.own {
			o = k
		}
		r.names.known[k] = cachedName{name: o, read: l.At}
		if o.Name != "" {
			l.Names = append(l.Names, o)
		}
	}
	return true
}

// wantedNames are the keys of all that tags and progress name.
func wantedNames(l *Locks, matters func(LockTag) bool) map[ObjectName]bool {
	want := map[ObjectName]bool{}
	for i := range l.Rows {
		t := l.Rows[i].Tag
		if !matters(t) {
			continue
		}
		if t.Relation != 0 {
			want[ObjectName{Database: t.Database, Class: classRelation, OID: t.Relation}] = true
		}
		switch t.Type {
		case "object":
			wantObject(want, t)
		case "applytransaction":
			want[ObjectName{Class: classSubscription, OID: t.ObjID}] = true
		}
		if t.Type != "spectoken" && t.Database != 0 {
			want[ObjectName{Class: classDatabase, OID: t.Database}] = true
		}
	}
	for i := range l.Touched {
		t := l.Touched[i].Tag
		want[ObjectName{Database: t.Database, Class: classRelation, OID: t.Relation}] = true
	}
	for i := range l.Progress {
		if p := l.Progress[i]; p.Relation != 0 {
			want[ObjectName{Database: p.Database, Class: classRelation, OID: p.Relation}] = true
		}
	}
	return want
}

func wantObject(want map[ObjectName]bool, t LockTag) {
	switch t.ClassID {
	case classDatabase, classRole, classSubscription:
		if t.ObjID != 0 {
			want[ObjectName{Class: t.ClassID, OID: t.ObjID}] = true
		}
	case classNamespace:
		want[ObjectName{Database: t.Database, Class: t.ClassID, OID: t.ObjID}] = true
	default:
		want[ObjectName{Database: t.Database, Class: classRelation, OID: t.ClassID}] = true
	}
}
