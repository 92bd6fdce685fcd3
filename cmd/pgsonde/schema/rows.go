package schema

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Rows is the size that a table is to have.
type Rows struct {
	Table string // name, or schema.name; "" for every table without one of its own
	N     float64
	loose bool // a table that is not there is no error
}

// mostRows keeps the files under the 32 TB that a relation may have.
const mostRows = 1e10

// ParseRows reads TABLE=NUMBER, or NUMBER for all tables. A number may have
// underscores and end with k, M or G.
func ParseRows(text string) (Rows, error) {
	name, number, named := cutLast(text, "=")
	if !named {
		name, number = "", text
	}
	name = strings.TrimSpace(name)
	n, err := parseCount(number)
	switch {
	case named && name == "":
		return Rows{}, fmt.Errorf("--rows %s: no table before the =", text)
	case err != nil || n < 0 || n > mostRows || n != math.Trunc(n):
		return Rows{}, fmt.Errorf("--rows %s: TABLE=NUMBER, as orders=1000000 or orders=1M, at most 10G", text)
	}
	return Rows{Table: name, N: n}, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

func parseCount(s string) (float64, error) {
	s = strings.ReplaceAll(strings.TrimSpace(s), "_", "")
	unit := 1.0
	for suffix, n := range map[string]float64{"k": 1e3, "K": 1e3, "m": 1e6, "M": 1e6, "g": 1e9, "G": 1e9} {
		if rest, ok := strings.CutSuffix(s, suffix); ok {
			s, unit = rest, n
			break
		}
	}
	n, err := strconv.ParseFloat(s, 64)
	if math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, strconv.ErrRange
	}
	return n * unit, err
}
