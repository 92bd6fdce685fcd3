package probes

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"
)

// Opened is a reading of how many sessions were ever opened in all databases
// (14+), pgsonde's own included.
type Opened struct {
	At       time.Time // the server's clock
	Sessions int64     // since the statistics were reset
}

const (
	openedSince = 140000 // pg_stat_database.sessions
	openedEvery = 5 * time.Second
	openedKept  = 5 * time.Minute
)

// openedClock paces the readings of sessions opened, which take one small
// statement on the work connection.
type openedClock struct {
	next    time.Time
	running bool
	all     []Opened // oldest first; a snapshot may have it, so it is never changed in place
}

// learn takes a reading. Numbers and clocks that went back were reset.
func (c *openedClock) learn(r *Rows) {
	if !r.Next() || r.Null(0) {
		return
	}
	o := Opened{At: r.Time(1), Sessions: r.Int64(0)}
	if n := len(c.all); n > 0 && (o.Sessions < c.all[n-1].Sessions || !o.At.After(c.all[n-1].At)) {
		c.all = nil
	}
	kept := c.all
	for len(kept) > 0 && o.At.Sub(kept[0].At) > openedKept {
		kept = kept[1:]
	}
	c.all = append(slices.Clone(kept), o)
}

// readOpened takes a reading; the caller set running.
func (s *Sampler) readOpened(ctx context.Context) {
	rows, err := s.Work(ctx, slowTimeout, "opened")
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened.running = false
	s.opened.next = time.Now().Add(openedEvery)
	if err == nil { // else the next reading will do
		s.opened.learn(rows)
	}
}

// refusal is the message of an error that says there is no slot; "" for any
// other, and for the limit of one role or database.
func refusal(err error) string {
	var ce *ConnectError
	if !errors.As(err, &ce) || ce.Kind != KindFull || strings.Contains(ce.Msg, "for role \"") || strings.Contains(ce.Msg, "for database \"") {
		return ""
	}
	return ce.Msg
}
