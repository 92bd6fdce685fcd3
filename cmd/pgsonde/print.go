package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/tui/clean"
)

// printJSON writes one document on one line, text of the server raw but escaped.
func (a *app) printJSON(doc any) error {
	return a.print(func(w io.Writer) {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		_ = enc.Encode(doc) // the documents are plain values; a write error comes with Flush
	})
}

// grid prints rows in aligned columns, as psql's unaligned-border tables do.
// A header that starts with ">" is set to the right.
type grid struct {
	head []string
	rows [][]string
}

func (g *grid) add(cells ...string) { g.rows = append(g.rows, cells) }

func (g *grid) write(w io.Writer) {
	width := make([]int, len(g.head))
	right := make([]bool, len(g.head))
	head := make([]string, len(g.head))
	for i, h := range g.head {
		head[i], right[i] = strings.CutPrefix(h, ">")
		width[i] = clean.Width(head[i])
	}
	for _, r := range g.rows {
		for i := range r {
			r[i] = clean.Line(r[i])
			width[i] = max(width[i], clean.Width(r[i]))
		}
	}
	for _, r := range append([][]string{head}, g.rows...) {
		var line strings.Builder
		for i, c := range r {
			pad := strings.Repeat(" ", width[i]-clean.Width(c))
			if i > 0 {
				line.WriteString("  ")
			}
			if right[i] {
				line.WriteString(pad + c)
			} else {
				line.WriteString(c + pad)
			}
		}
		fmt.Fprintln(w, strings.TrimRight(line.String(), " "))
	}
}

// count prints an optional number: "?" unknown.
func count(n *int) string {
	if n == nil {
		return "?"
	}
	return strconv.Itoa(*n)
}

// blank prints an optional number that may not apply: "".
func blank(n *int) string {
	if n == nil {
		return ""
	}
	return strconv.Itoa(*n)
}

// age prints seconds as psql users read them: 0:41, 1:02:10, 3d 04:00.
func age(s *float64) string {
	if s == nil {
		return ""
	}
	d := time.Duration(*s * float64(time.Second)).Truncate(time.Second)
	h, m, sec := int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60
	switch {
	case h >= 24:
		return fmt.Sprintf("%dd %02d:%02d", h/24, h%24, m)
	case h > 0:
		return fmt.Sprintf("%d:%02d:%02d", h, m, sec)
	}
	return fmt.Sprintf("%d:%02d", m, sec)
}

// signs double the severity of a finding where there is no colour.
var signs = map[probes.Severity]string{probes.Error: "!", probes.Warn: "~", probes.Info: "-"}

// writeFindings prints findings, the line first, what to do under it.
func writeFindings(w io.Writer, fs []probes.Finding) {
	for _, f := range fs {
		fmt.Fprintf(w, "%s %s  %s\n", signs[f.Severity], clean.Line(f.Message), "["+f.Rule+"]")
		if f.Action != "" {
			fmt.Fprintf(w, "    %s\n", clean.Line(f.Action))
		}
	}
}

// stamp is a time as the contracts say: RFC 3339, UTC; nil when zero.
func stamp(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	s := t.UTC().Format(time.RFC3339Nano)
	return &s
}

func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func emptyNotNull[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
