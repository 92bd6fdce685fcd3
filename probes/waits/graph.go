package waits

import (
	"slices"
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

// Key names a process of the forest: a backend, by its lock group's leader, or
// a prepared transaction, which has no pid.
type Key struct {
	PID  int
	VXID string // prepared transactions only
}

// Prepared reports whether the key is a prepared transaction.
func (k Key) Prepared() bool { return k.PID == 0 }

// Less orders keys by pid.
func (k Key) Less(o Key) bool {
	if k.PID != o.PID {
		return k.PID < o.PID
	}
	return k.VXID < o.VXID
}

// proc is a lock group, a lone backend or a prepared transaction.
type proc struct {
	key      Key
	session  *probes.Session // nil: nothing is known but the pid
	prepared *probes.PreparedXact
	waits    []*wait // its own and its parallel workers'
	holds    []hold  // of objects somebody waits for
	rest     []int   // processes that it waits for after the one that the lock table shows
	more     bool    // … and for others, which have no name
	later    []int   // processes that it waits for in a later phase
	unknown  bool    // … and which these are is not known
}

type hold struct {
	obj  *object
	mask uint16
}

// holder is one process that holds locks on an object.
type holder struct {
	proc int
	pid  int
	mask uint16
}

// modeCount is the number of lock modes, NoLock among them.
const modeCount = probes.AccessExclusiveLock + 1

// object is a contended lock: its holders and its queue, head first.
type object struct {
	tag     probes.LockTag
	holders []holder
	queue   []*wait
	modes   uint16           // of the queue
	last    [modeCount]int32 // per requested mode: its last place in the queue, plus 1
	grouped bool             // a parallel worker waits here
	words   string           // the tag in words
	index   int              // in graph.objects
}

// wait is one process's ungranted request.
type wait struct {
	index int // in graph.waits
	proc  int
	pid   int // the member of the lock group that waits
	obj   *object
	mode  probes.LockMode
	start time.Time       // zero: unknown
	pos   int             // in obj.queue
	shape *probes.LockTag // obj's, or what is known without one

	// reordered holds the processes ahead as the server itself gave them,
	// when that is not what the replay says.
	reordered bool
	ahead     []*wait
	proved    bool // the server's own answer agrees
	passes    bool // the deadlock detector may put it before those ahead in the queue
	passed    bool // … and one of the others before it
	doubt     Doubt
	// explicit are the blockers when the lock entries are of an earlier tick.
	explicit []link
}

// link is one blocker of a wait.
type link struct {
	proc int
	pid  int // the member that holds or waits
	kind Kind
	mode probes.LockMode
}

type graph struct {
	procs   []proc
	pids    map[int]int    // pid → index of procs
	gids    map[string]int // virtualtransaction of a prepared transaction → index of procs
	leader  map[int]int    // parallel worker → leader
	objects []*object
	waits   []*wait
	row     map[int]probes.LockTag // pid → the tuple lock it holds: the row it is after
	prep    map[string]uint32      // virtualtransaction → xid of a prepared transaction
	known   map[string]*probes.PreparedXact
	old     *aged // entries of an earlier reading, where only answers are new
	torn    []int // pids whose readings contradict each other
	passing bool  // a wait passes
}

func newGraph(l *probes.Locks) *graph {
	g := &graph{
		procs:  make([]proc, 0, len(l.Procs)),
		pids:   make(map[int]int, len(l.Procs)),
		gids:   map[string]int{},
		leader: map[int]int{},
		row:    map[int]probes.LockTag{},
		prep:   map[string]uint32{},
	}
	for i := range l.Procs {
		s := &l.Procs[i]
		// leader_pid is also set for parallel apply workers, which are no lock group.
		if (s.Kind == "parallel worker" || s.Kind == probes.KindMasked) && s.LeaderPID != 0 {
			g.leader[s.PID] = s.LeaderPID
		}
	}
	for i := range l.Procs {
		s := &l.Procs[i]
		if _, worker := g.leader[s.PID]; !worker {
			g.procs[g.proc(Key{PID: s.PID})].session = s
		}
	}
	for _, r := range l.Rows {
		if r.PID == 0 && r.Granted && r.Tag.Type == "transactionid" && r.Mode == probes.ExclusiveLock {
			g.prep[r.VXID] = r.Tag.XID
		}
	}
	return g
}

// proc is the index of key's process, made when it is new.
func (g *graph) proc(k Key) int {
	if i, ok := g.find(k); ok {
		return i
	}
	g.procs = append(g.procs, proc{key: k})
	if k.Prepared() {
		g.gids[k.VXID] = len(g.procs) - 1
	} else {
		g.pids[k.PID] = len(g.procs) - 1
	}
	return len(g.procs) - 1
}

// find is the index of key's process.
func (g *graph) find(k Key) (int, bool) {
	if k.Prepared() {
		i, ok := g.gids[k.VXID]
		return i, ok
	}
	i, ok := g.pids[k.PID]
	return i, ok
}

// group is the process a row belongs to: the leader of its lock group.
func (g *graph) group(r *probes.LockRow) int {
	if r.PID == 0 {
		return g.proc(Key{VXID: r.VXID})
	}
	if l, ok := g.leader[r.PID]; ok {
		return g.proc(Key{PID: l})
	}
	return g.proc(Key{PID: r.PID})
}

// fromRows reads contended objects out of rows of one instant.
func (g *graph) fromRows(rows []probes.LockRow) {
	waiting, xids := 0, 0
	for i := range rows {
		if !rows[i].Granted {
			waiting++
			if rows[i].Tag.Type == "transactionid" {
				xids++
			}
		}
	}
	slab, refs := make([]wait, 0, waiting), make([]*wait, waiting)
	objects := newObjects(waiting, xids)
	g.waits, g.objects = make([]*wait, 0, waiting), make([]*object, 0, waiting)
	for i := range rows {
		if r := &rows[i]; !r.Granted && r.Mode != probes.NoLock {
			o := objects.find(&r.Tag)
			if o == nil {
				o = objects.add(&r.Tag)
				g.objects = append(g.objects, o)
			}
			slab = append(slab, wait{proc: g.group(r), pid: r.PID, obj: o, mode: r.Mode, start: r.WaitStart, shape: &o.tag})
			n := len(slab) - 1
			g.addWait(&slab[n], refs[n:n:n+1])
		}
	}
	many := map[heldKey]int{}
	holders := make([]holder, len(g.objects)) // most have one
	for i := range rows {
		r := &rows[i]
		if !r.Granted || r.Mode == probes.NoLock {
			continue
		}
		if r.Tag.Type == "tuple" && r.PID != 0 {
			g.row[r.PID] = r.Tag
		}
		if o := objects.find(&r.Tag); o != nil {
			if o.holders == nil {
				o.holders = holders[o.index : o.index : o.index+1]
			}
			g.addHolder(o, r, many)
		}
	}
	g.hold()
}

// hold orders the queues and tells each process what it holds.
func (g *graph) hold() {
	n := 0
	for _, o := range g.objects {
		o.order()
		n += len(o.holders)
	}
	room := make([]hold, n) // for the first of each: most hold one
	for i, o := range g.objects {
		for _, h := range o.holders {
			p := &g.procs[h.proc]
			if p.holds == nil {
				p.holds, room = room[:0:1], room[1:]
			}
			p.holds = append(p.holds, hold{g.objects[i], h.mask})
		}
	}
}

// objects finds objects by their tags. Most waits of an incident are for
// transactions, whose number is a cheaper key than a whole tag.
type objects struct {
	slab []object
	xids map[uint32]*object
	tags map[probes.LockTag]*object
}

func newObjects(n, xids int) *objects {
	return &objects{slab: make([]object, 0, n), xids: make(map[uint32]*object, xids), tags: map[probes.LockTag]*object{}}
}

func (o *objects) find(t *probes.LockTag) *object {
	if t.Type == "transactionid" {
		return o.xids[t.XID]
	}
	return o.tags[*t]
}

// add makes one for a tag that is not there; of as many as newObjects was told at
// most.
func (o *objects) add(t *probes.LockTag) *object {
	o.slab = append(o.slab, object{tag: *t, index: len(o.slab)})
	x := &o.slab[len(o.slab)-1]
	if t.Type == "transactionid" {
		o.xids[t.XID] = x
	} else {
		o.tags[*t] = x
	}
	return x
}

type heldKey struct {
	obj  *object
	proc int
	pid  int
}

// addHolder adds one held mode; few objects have more than a few holders.
func (g *graph) addHolder(o *object, r *probes.LockRow, many map[heldKey]int) {
	k := heldKey{o, g.group(r), r.PID}
	at := -1
	if len(o.holders) <= 8 {
		at = slices.IndexFunc(o.holders, func(h holder) bool { return h.proc == k.proc && h.pid == k.pid })
	} else if i, ok := many[k]; ok {
		at = i
	}
	if at >= 0 {
		o.holders[at].mask |= r.Mode.Bit()
		return
	}
	o.holders = append(o.holders, holder{proc: k.proc, pid: r.PID, mask: r.Mode.Bit()})
	switch n := len(o.holders); {
	case n == 9:
		for i, h := range o.holders {
			many[heldKey{o, h.proc, h.pid}] = i
		}
	case n > 9:
		many[k] = n - 1
	}
}

// addWait adds w to its object's queue and its process's waits. Most are of one,
// which room has space for: both may share it, for a longer one grows into an
// array of its own.
func (g *graph) addWait(w *wait, room []*wait) {
	p := &g.procs[w.proc]
	if p.waits == nil {
		p.waits = room
	}
	if o := w.obj; o != nil {
		if o.queue == nil {
			o.queue = room
		}
		o.queue = append(o.queue, w)
		_, worker := g.leader[w.pid]
		o.grouped = o.grouped || worker
		o.modes |= w.mode.Bit()
	}
	w.index = len(g.waits)
	g.waits = append(g.waits, w)
	p.waits = append(p.waits, w)
}

// blockers yields what blocks w, hard edges first. A process that holds and
// waits ahead is a hard edge only.
func (g *graph) blockers(w *wait, yield func(link) bool) {
	if w.obj == nil {
		for _, l := range w.explicit {
			if !yield(l) {
				return
			}
		}
		return
	}
	conf := w.mode.Conflicts()
	for i := range w.obj.holders {
		h := &w.obj.holders[i]
		if x := conf & h.mask; x != 0 && h.proc != w.proc {
			if !yield(link{h.proc, h.pid, Hard, strongest(x)}) {
				return
			}
		}
	}
	ahead := w.obj.queue[:w.pos]
	if w.reordered {
		ahead = w.ahead
	}
	for _, b := range ahead {
		if conf&b.mode.Bit() != 0 && b.proc != w.proc && !w.obj.holdsAgainst(b, conf) {
			if !yield(link{b.proc, b.pid, Soft, b.mode}) {
				return
			}
		}
	}
}

// holdsAgainst reports whether b, which waits here, also holds something here
// that conflicts: then its edge is the hard one.
func (o *object) holdsAgainst(b *wait, conf uint16) bool {
	if conf&o.heldMask() == 0 {
		return false
	}
	for i := range o.holders {
		if o.holders[i].pid == b.pid && o.holders[i].mask&conf != 0 && b.pid != 0 {
			return true
		}
	}
	return false
}

func (o *object) heldMask() (m uint16) {
	for i := range o.holders {
		m |= o.holders[i].mask
	}
	return m
}

// strongest is the strongest mode of a mask.
func strongest(mask uint16) probes.LockMode {
	for m := probes.AccessExclusiveLock; m > probes.NoLock; m-- {
		if mask&m.Bit() != 0 {
			return m
		}
	}
	return probes.NoLock
}
