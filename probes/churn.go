package probes

import (
	"errors"
	"strings"
	"time"
)

// Churn is how many sessions were opened between two readings of
// pg_stat_database (14+), pgsonde's own included.
type Churn struct {
	PerS  float64 // new sessions a second
	OverS float64 // seconds between the readings
}

const (
	churnSince = 140000          // pg_stat_database.sessions
	churnLeast = 5 * time.Second // below this a few sessions look like many
)

// churnClock is the last reading of the number of sessions ever opened.
type churnClock struct {
	sessions int64
	at       time.Time // the server's clock; zero: none yet
	last     *Churn
}

// learn takes a reading. Numbers that went down were reset.
func (c *churnClock) learn(r *Rows) {
	if !r.Next() || r.Null(0) {
		return
	}
	n, at := r.Int64(0), r.Time(1)
	span := at.Sub(c.at)
	switch {
	case c.at.IsZero() || n < c.sessions || span < 0:
		*c = churnClock{sessions: n, at: at}
	case span >= churnLeast:
		*c = churnClock{sessions: n, at: at, last: &Churn{PerS: float64(n-c.sessions) / span.Seconds(), OverS: span.Seconds()}}
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
