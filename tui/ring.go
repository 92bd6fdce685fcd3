package tui

import (
	"math"
	"time"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/bouncer"
	"github.com/pgsonde/pgsonde/probes/budget"
	"github.com/pgsonde/pgsonde/probes/waits"
)

const (
	ringAge  = 30 * time.Minute
	ringFine = 2 * time.Minute // younger readings are all kept
	ringStep = 5 * time.Second // older ones at this distance
	ringMax  = 6 << 20         // bytes, estimated
	histLen  = 60              // readings behind a sparkline
)

// entry is one reading.
type entry struct {
	snap *probes.Snapshot
	use  *budget.Usage
	pool *poolReading // nil: no console was read yet
	size int
}

// ring holds the readings of the last half hour, oldest first: all of the last
// minutes, the older ones thinned out, and never more than a few megabytes.
type ring struct {
	all   []entry
	bytes int
	fine  int            // index of the first entry that is not thinned yet
	peaks map[string]int // role → highest now ever seen
}

func (r *ring) push(s *probes.Snapshot, u *budget.Usage) {
	e := entry{snap: s, use: u, size: weight(s, u)}
	if n := len(r.all); n > 0 {
		e.pool = r.all[n-1].pool
	}
	r.all = append(r.all, e)
	r.bytes += e.size
	if r.peaks == nil {
		r.peaks = map[string]int{}
	}
	for _, row := range u.Rows {
		r.peaks[row.Role] = max(r.peaks[row.Role], row.Now)
	}
	r.thin(s.At)
	for len(r.all) > histLen && (r.bytes > ringMax || s.At.Sub(r.all[0].snap.At) > ringAge) {
		r.drop(0)
	}
}

// thin drops readings that left the fine part and stand too close to the one
// before them.
func (r *ring) thin(now time.Time) {
	for r.fine < len(r.all) && now.Sub(r.all[r.fine].snap.At) > ringFine {
		if r.fine > 0 && r.all[r.fine].snap.At.Sub(r.all[r.fine-1].snap.At) < ringStep {
			r.drop(r.fine)
			continue
		}
		r.fine++
	}
}

func (r *ring) drop(i int) {
	r.bytes -= r.all[i].size
	copy(r.all[i:], r.all[i+1:])
	r.all[len(r.all)-1] = entry{}
	r.all = r.all[:len(r.all)-1]
	if i < r.fine {
		r.fine--
	}
}

// weight estimates the memory of a reading.
func weight(s *probes.Snapshot, u *budget.Usage) int {
	n := 1024 + 300*len(s.Groups) + 400*len(s.Sessions) + 300*len(u.Rows) + 300*len(u.Findings)
	for i := range s.Sessions {
		n += len(s.Sessions[i].Query)
	}
	return n
}

// index finds a reading by its sequence number, or the next younger one.
func (r *ring) index(seq int64) int {
	for i, e := range r.all {
		if e.snap.Seq >= seq {
			return i
		}
	}
	return len(r.all) - 1
}

// frame is what screens show: one reading, judged, with the history up to it.
type frame struct {
	snap  *probes.Snapshot
	use   *budget.Usage
	file  *budget.File
	hist  map[string][]float64 // role → now in the last readings, oldest first
	peaks map[string]int
	live  bool
	away  error // why there is no newer reading, while the youngest is shown
	ascii bool
	locks *waits.Forest // made by forest

	pool      *poolReading
	pooled    []*bouncer.View  // made by poolers
	poolFound []probes.Finding // … too
	merged    []probes.Finding // made by findings
}

// role names who a session belongs to.
func (f *frame) role(s *probes.Session) string {
	m := f.file.Match(budget.Who{Kind: s.Kind, App: s.App, User: s.User, Database: s.Database, Addr: s.Addr})
	if m.Origin == budget.Pooler {
		return "pooler " + m.Role
	}
	return f.file.RoleOf(*s)
}

// row finds a role's row.
func (f *frame) row(role string) (budget.Row, bool) {
	for _, r := range f.use.Rows {
		if r.Role == role {
			return r, true
		}
	}
	return budget.Row{}, false
}

// age is seconds from t to the time of the reading; -1 when t is unknown.
func (f *frame) age(t time.Time) float64 {
	if t.IsZero() {
		return -1
	}
	return max(0, f.snap.At.Sub(t).Seconds())
}

func (r *ring) frame(i int, file *budget.File) *frame {
	e := r.all[i]
	f := &frame{snap: e.snap, use: e.use, pool: e.pool, file: file, peaks: r.peaks, live: i == len(r.all)-1, hist: map[string][]float64{}}
	first := max(0, i+1-histLen)
	for _, row := range e.use.Rows {
		h := make([]float64, i+1-first)
		for n := range h {
			h[n] = math.NaN()
		}
		f.hist[row.Role] = h
	}
	for n, old := range r.all[first : i+1] {
		for _, row := range old.use.Rows {
			if h, ok := f.hist[row.Role]; ok {
				h[n] = float64(row.Now)
			}
		}
	}
	return f
}
