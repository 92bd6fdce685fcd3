package tui

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/bouncer"
	"github.com/pgsonde/pgsonde/probes/waits"
)

// Consoles reads the admin consoles of poolers. Its methods are called from one
// Cmd at a time; it is closed when the UI is left.
type Consoles interface {
	// Read reads all consoles once, each within a time-out of its own. A console
	// that cannot be read is an Instance with an error.
	Read(ctx context.Context) []bouncer.Told
	Close()
}

// worker is a Source that can run one of pgsonde's own statements.
type worker interface {
	Work(ctx context.Context, timeout time.Duration, name string, args ...any) (*probes.Rows, error)
}

const (
	// poolersIdle is the time between two readings while another screen is shown.
	poolersIdle = 10 * time.Second
	// poolersRest is the least time between them.
	poolersRest = time.Second
	// advisoryEvery and advisoryTimeout are for the statement that reads the lock
	// manager.
	advisoryEvery   = 10 * time.Second
	advisoryTimeout = time.Second
)

// pooling is the state of asking the consoles.
type pooling struct {
	busy     bool
	timer    int // generation of the wait that counts
	last     *poolReading
	locksDue time.Time // our clock
}

// poolReading is what all consoles said at one time. Nobody changes it.
type poolReading struct {
	told     []bouncer.Told
	advisory []bouncer.AdvisoryLock
	locks    bool      // advisory was read with it
	at       time.Time // our clock, when the last console had answered
}

// weight estimates its memory.
func (r *poolReading) weight() int {
	n := 1024
	for _, t := range r.told {
		for _, in := range t.Instances {
			if in.Reading != nil {
				n += 400*(len(in.Reading.Clients)+len(in.Reading.Servers)+len(in.Reading.Databases)) + 300*len(in.Reading.Pools)
			}
		}
	}
	return n
}

// poolersMsg is what the consoles said.
type poolersMsg struct{ read *poolReading }

// poolersDueMsg says that the wait before the next reading is over.
type poolersDueMsg struct {
	gen int
	at  time.Time
}

// poolers reads the consoles, and with locks the session advisory locks too.
func (l *link) poolers(c Consoles, locks bool) tea.Cmd {
	return func() tea.Msg {
		if !l.begin() {
			return nil
		}
		defer l.busy.Done()
		r := &poolReading{told: c.Read(l.ctx), locks: locks}
		if src := l.take(); src != nil {
			defer l.busy.Done()
			if w, ok := src.(worker); ok && locks {
				if rows, err := w.Work(l.ctx, advisoryTimeout, bouncer.AdvisoryStatement); err == nil {
					r.advisory = bouncer.AdvisoryLocks(rows)
				}
			}
		}
		r.at = time.Now()
		l.told.Store(&r.told)
		return poolersMsg{r}
	}
}

// saidLast is what the consoles said last, for the budget: of before the tick.
func (l *link) saidLast() []bouncer.Told {
	if t := l.told.Load(); t != nil {
		return *t
	}
	return nil
}

// begin counts a use of the link; false when it is closed.
func (l *link) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	l.busy.Add(1)
	return true
}

// wantPooled asks for the sessions that a pooler's connections are told from, on
// whatever screen: what is known of a role must not change with it.
func (m *model) wantPooled(w *probes.Want) {
	if !m.tellsPooled() {
		return
	}
	w.Sessions = true
	w.Limit = max(w.Limit, poolRows)
	w.QueryBytes = max(w.QueryBytes, 1)
}

// tellsPooled says that every reading has the sessions, if not their statements.
func (m *model) tellsPooled() bool {
	return m.opt.Consoles != nil && m.opt.Budget != nil && len(m.opt.Budget.Poolers) > 0
}

// onPoolers says that the Poolers view is on screen.
func (m *model) onPoolers() bool {
	_, ok := m.view().stack[0].(*poolersScreen)
	return ok
}

// askPoolers reads the consoles, unless that is under way.
func (m *model) askPoolers(at time.Time) tea.Cmd {
	if m.opt.Consoles == nil || m.pool.busy {
		return nil
	}
	m.pool.busy = true
	m.pool.timer++
	locks := !at.Before(m.pool.locksDue)
	if locks && !at.IsZero() {
		m.pool.locksDue = at.Add(advisoryEvery)
	}
	return m.link.poolers(m.opt.Consoles, locks)
}

// poolersSoon reads now when the Poolers view has just come on screen.
func (m *model) poolersSoon() tea.Cmd {
	if !m.onPoolers() || m.read.paused || m.pool.last == nil {
		return nil
	}
	return m.askPoolers(m.pool.last.at)
}

func (m *model) poolersDue(msg poolersDueMsg) tea.Cmd {
	switch {
	case msg.gen != m.pool.timer:
		return nil
	case m.read.paused:
		return m.waitPoolers()
	}
	return m.askPoolers(msg.at)
}

// waitPoolers sets the next reading: at the pace of the ticks while the view is
// on screen, else rarely.
func (m *model) waitPoolers() tea.Cmd {
	m.pool.timer++
	gen, d := m.pool.timer, poolersIdle
	if m.onPoolers() {
		d = max(m.read.next, poolersRest)
	}
	return m.link.after(d, func(at time.Time) tea.Msg { return poolersDueMsg{gen, at} })
}

// gotPoolers takes a reading. It belongs to the youngest snapshot.
func (m *model) gotPoolers(msg poolersMsg) tea.Cmd {
	m.pool.busy = false
	if old := m.pool.last; old != nil && !msg.read.locks {
		msg.read.advisory = old.advisory
	}
	m.pool.last = msg.read
	if !m.read.paused {
		if n := len(m.ring.all); n > 0 {
			m.ring.pooled(msg.read)
			if m.at == 0 {
				m.show(n - 1)
			}
		}
	}
	return m.waitPoolers()
}

// pooled gives the youngest reading of the ring what the consoles said.
func (r *ring) pooled(p *poolReading) {
	e := &r.all[len(r.all)-1]
	if e.pool == p {
		return
	}
	e.pool = p
	n := p.weight()
	e.size += n
	r.bytes += n
}

// poolers are the judged poolers of this reading, and all their findings, made
// when they are first asked for.
func (f *frame) poolers() []*bouncer.View {
	if f.pool == nil || f.pooled != nil {
		return f.pooled
	}
	for _, t := range f.pool.told {
		v := bouncer.Judge(bouncer.Input{
			Instances: t.Instances, Snapshot: f.snap, ServerErr: f.away, Spec: t.Spec, Advisory: f.pool.advisory, RoleOf: f.file.ClientRole,
		})
		f.pooled = append(f.pooled, v)
	}
	f.poolFound = bouncer.Together(f.pooled)
	return f.pooled
}

// findings are those of the budget, of the poolers and of the lock waits, worst
// first. What two of them say of one thing is said once, by the graver one.
func (f *frame) findings() []probes.Finding {
	if f.merged != nil {
		return f.merged
	}
	f.poolers()
	f.merged = append([]probes.Finding{}, f.use.Findings...)
	more := slices.Concat(f.poolFound, waits.Findings(f.forest(), f.use.Caps()))
	for _, p := range more {
		full := p.Evidence["server_full"] == true
		i := slices.IndexFunc(f.use.Findings, func(b probes.Finding) bool {
			return b.Rule == p.Rule && b.Subject == p.Subject || full && b.Rule == slotsFull
		})
		switch {
		case i >= 0 && full:
			f.merged[i] = fullFor(f.merged[i], p)
		case i < 0:
			f.merged = append(f.merged, p)
		case rank(p) < rank(f.merged[i]):
			f.merged[i] = p
		}
	}
	worstFirst(f.merged)
	return f.merged
}

// slotsFull is the budget's rule of a server without a free slot.
const slotsFull = "slots-full"

// fullFor adds the pools that a full server refuses to the finding that it is full.
func fullFor(server, pools probes.Finding) probes.Finding {
	names, _ := pools.Evidence["pools"].([]string)
	server.Message += "; no server for pool " + strings.Join(names[:min(3, len(names))], ", ")
	if more := len(names) - 3; more > 0 {
		server.Message += fmt.Sprintf(" and %d more", more)
	}
	if n, _ := pools.Evidence["clients_waiting"].(int); n > 0 {
		server.Message += ", " + plural(n, "client") + " waiting"
	}
	server.Evidence = maps.Clone(server.Evidence)
	server.Evidence["pools"] = names
	if rank(pools) < rank(server) {
		server.Severity = pools.Severity
	}
	if server.SinceS == nil {
		server.SinceS = pools.SinceS
	}
	return server
}

func rank(f probes.Finding) int {
	return slices.Index([]probes.Severity{probes.Error, probes.Warn, probes.Info}, f.Severity)
}

// effect is 1 for what others of its severity may be the cause of: waits fill pods.
func effect(f probes.Finding) int {
	if f.Rule == "pod-full" {
		return 1
	}
	return 0
}

// worstFirst orders findings by severity, causes before effects.
func worstFirst(fs []probes.Finding) {
	slices.SortStableFunc(fs, func(a, b probes.Finding) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(effect(a), effect(b)))
	})
}
