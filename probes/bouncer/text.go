package bouncer

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pgsonde/pgsonde/probes"
)

// quoted is a name for a message: as it is when it is plain, else in quotes with
// everything escaped that is not printable, so that a message is always one line.
func quoted(s string) string {
	plain := s != "" && utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return r == ' ' || r == '"' || r == '\\' || !unicode.IsPrint(r)
	})
	if plain {
		return s
	}
	return strconv.Quote(s)
}

func quotedAll(all []string) []string {
	out := make([]string, len(all))
	for i, s := range all {
		out[i] = quoted(s)
	}
	return out
}

func count(n int) string { return strconv.Itoa(n) }

// plural is "1 client" or "3 clients".
func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + one + "s"
}

// ago is a span for a message: 0.4 s, 12 s, 3 min, 2 h.
func ago(s float64) string {
	switch {
	case s < 10:
		return strconv.FormatFloat(s, 'f', 1, 64) + " s"
	case s < 180:
		return fmt.Sprintf("%.0f s", s)
	case s < 3*3600:
		return fmt.Sprintf("%.0f min", s/60)
	}
	return fmt.Sprintf("%.0f h", s/3600)
}

func (p *PoolView) name() string { return quoted(p.Database) + "@" + quoted(p.User) }

// name is who a root is.
func (r Root) name() string {
	if r.PID == 0 {
		return "a prepared transaction"
	}
	return "pid " + count(r.PID)
}

// text names a root and says what it does.
func (r Root) text(snap *probes.Snapshot) string {
	out := r.name()
	if r.Session == nil {
		return out
	}
	var about []string
	switch {
	case r.Role != "":
		about = append(about, quoted(r.Role))
	case r.Session.App != "":
		about = append(about, quoted(r.Session.App))
	}
	does := r.Session.State
	if !r.Session.XactStart.IsZero() && snap != nil {
		does += " for " + ago(max(0, snap.At.Sub(r.Session.XactStart).Seconds()))
	}
	if does != "" {
		about = append(about, strings.TrimSpace(does))
	}
	if len(about) == 0 {
		return out
	}
	return out + " (" + strings.Join(about, ", ") + ")"
}

// name is who has a server: "pid 41 of worker".
func (b *Backend) name() string {
	out := "pid " + count(b.PID)
	switch {
	case b.Role != "":
		return out + " of " + quoted(b.Role)
	case b.Session != nil && b.Session.App != "":
		return out + " of " + quoted(b.Session.App)
	}
	return out
}

// after is the name behind a comma, "" of nobody.
func after(b *Backend) string {
	if b == nil {
		return ""
	}
	return ", " + b.name()
}

// text says what the busy servers do: "2 waiting for a lock, 1 idle in transaction
// (up to 41 s, pid 41 of worker)".
func (u Use) text(mode string) string {
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, count(n)+" "+what)
		}
	}
	add(u.Lock, "waiting for a lock")
	if u.IdleInTx > 0 {
		parts = append(parts, fmt.Sprintf("%d idle in transaction (up to %s%s)", u.IdleInTx, ago(u.LongestTxS), after(u.OldestTx)))
	}
	if u.Running > 0 {
		parts = append(parts, fmt.Sprintf("%d running a query (up to %s%s)", u.Running, ago(u.LongestQueryS), after(u.OldestQuery)))
	}
	add(u.Client, "waiting for its client to read or send")
	idle := "idle"
	if mode == sessionMode {
		idle = "idle, kept by a client that stays connected"
	}
	add(u.Idle, idle)
	add(u.Unknown, "not in the snapshot")
	return strings.Join(parts, ", ")
}
