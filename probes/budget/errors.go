package budget

import (
	"fmt"
	"slices"
	"strings"
)

// FileError is one mistake in a budget file or in a scenario. Line is 0 when
// the mistake has no line: a scenario of the command line, a file that cannot
// be read.
type FileError struct {
	File string
	Line int
	Msg  string
}

// Error is "FILE:LINE: MSG", without the parts that are unknown.
func (e *FileError) Error() string {
	switch {
	case e.File == "":
		return e.Msg
	case e.Line == 0:
		return e.File + ": " + e.Msg
	}
	return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Msg)
}

// FileErrors are all mistakes of one file, by line. errors.As with a
// *FileError finds the first.
type FileErrors []*FileError

// Error has a line for each mistake, up to 20, and one for the others.
func (es FileErrors) Error() string {
	var lines []string
	for i, e := range es {
		if i == maxFileErrors {
			lines = append(lines, "and "+number(len(es)-i, "more error", "more errors"))
			break
		}
		lines = append(lines, strings.ReplaceAll(e.Error(), "\n", " "))
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the mistakes to errors.Is and errors.As.
func (es FileErrors) Unwrap() []error {
	out := make([]error, len(es))
	for i, e := range es {
		out[i] = e
	}
	return out
}

// nearest is "; did you mean \"replicas\"?" when one of the known names is near
// enough to be a typing mistake.
func nearest(got string, known []string) string {
	best, bestDist := "", len(got)/3+2
	for _, k := range known {
		if d := distance(strings.ToLower(got), strings.ToLower(k)); d < bestDist {
			best, bestDist = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %q?", best)
}

// didYouMean is the nearest known name, and the known ones.
func didYouMean(got string, known []string) string {
	near := nearest(got, known)
	return near + knownList(near != "", known)
}

// maxListed bounds a list of known names.
const maxListed = 24

// knownList is "; known: a, b, c", after a question " Known: a, b, c". Names of
// several words are in quotes: they may have commas themselves.
func knownList(asked bool, known []string) string {
	if len(known) == 0 {
		return ""
	}
	var out []string
	for _, name := range slices.Sorted(slices.Values(known)) {
		if strings.ContainsAny(name, " ,;") {
			name = fmt.Sprintf("%q", name)
		}
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	more := ""
	if n := len(out) - maxListed; n > 0 {
		out, more = out[:maxListed], fmt.Sprintf(" and %d more", n)
	}
	if asked {
		return " Known: " + strings.Join(out, ", ") + more
	}
	return "; known: " + strings.Join(out, ", ") + more
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours between two names (optimal string alignment).
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return max(len(a), len(b))
	}
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
