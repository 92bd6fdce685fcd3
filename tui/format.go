package tui

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/tui/table"
	"github.com/pgsonde/pgsonde/tui/theme"
)

// age prints seconds as m:ss, h:mm:ss or days; "" when negative (unknown or
// not in such a state).
func age(s float64) string {
	if s < 0 || math.IsNaN(s) {
		return ""
	}
	n := int64(s)
	switch {
	case n < 3600:
		return fmt.Sprintf("%d:%02d", n/60, n%60)
	case n < 100*3600:
		return fmt.Sprintf("%d:%02d:%02d", n/3600, n/60%60, n%60)
	}
	return fmt.Sprintf("%dd %02dh", n/86400, n/3600%24)
}

// span prints a short wall-clock distance: "4 s", "3 min".
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < 2*time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < 2*time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min"
	}
	return strconv.Itoa(int(d.Hours())) + " h"
}

// number is a count for a right-aligned column. Zero is dim.
func number(n int) table.Cell {
	c := table.Cell{Text: strconv.Itoa(n), Num: float64(n)}
	if n == 0 {
		c.Role = theme.Dim
	}
	return c
}

// optional is a count that may be unknown, then "?".
func optional(n *int) table.Cell {
	if n == nil {
		return table.Cell{Text: "?", Role: theme.Dim, Num: -1}
	}
	return number(*n)
}

// limit is a bound that may not apply.
func limit(g theme.Glyphs, n *int) table.Cell {
	if n == nil {
		return table.Cell{Text: g.None, Role: theme.Dim, Num: -1}
	}
	return table.Cell{Text: strconv.Itoa(*n), Num: float64(*n)}
}

func ageCell(s float64) table.Cell { return table.Cell{Text: age(s), Num: s} }

// state shortens pg_stat_activity's state to eight cells.
func state(s *probes.Session) string {
	switch s.State {
	case "idle in transaction":
		return "idle tx"
	case "idle in transaction (aborted)":
		return "aborted"
	case "fastpath function call":
		return "fastpath"
	case "":
		if s.BackendStart.IsZero() {
			return "?"
		}
	}
	return s.State
}

// waitEvent says what a session waits for; an idle one waits for its client, which
// needs no words.
func waitEvent(s *probes.Session) string {
	switch {
	case s.WaitEventType == "" || s.WaitEventType == "Activity":
		return ""
	case s.WaitEvent == "ClientRead" && s.State != "active":
		return ""
	}
	return s.WaitEventType + ":" + s.WaitEvent
}

// severity is the role of a finding.
func severity(s probes.Severity) theme.Role {
	switch s {
	case probes.Error:
		return theme.Crit
	case probes.Warn:
		return theme.Warn
	}
	return theme.Dim
}

// clock prints a time of day on the server's clock, in its zone-less UTC form.
func clock(t time.Time) string { return t.UTC().Format("15:04:05Z") }

// bytesOf reads a size as SHOW prints it: 1kB, 16MB, 1500B; 0 when it is none.
func bytesOf(s string) int {
	for _, u := range []struct {
		suffix string
		times  int
	}{{"MB", 1 << 20}, {"kB", 1 << 10}, {"B", 1}, {"", 1}} {
		if n, ok := strings.CutSuffix(s, u.suffix); ok {
			v, err := strconv.Atoi(n)
			if err != nil || v < 0 || v > 1<<30/u.times {
				return 0
			}
			return v * u.times
		}
	}
	return 0
}
