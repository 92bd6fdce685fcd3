package probes

import (
	"encoding/hex"
	"strconv"
	"time"
)

// Rows is the whole answer of one statement, in text format. Next steps through
// it; the getters read the current row by column number and give the zero value
// for NULL. All probes return numbers and texts only, times as microseconds
// since the epoch.
type Rows struct {
	Took  time.Duration // wall time
	Bytes int64         // of the column values

	cells [][][]byte
	at    int // 1-based: the current row
	enc   *encodings
	own   uint32 // the oid of the database we are connected to
}

// Len is the number of rows.
func (r *Rows) Len() int { return len(r.cells) }

// Next steps to the next row; false after the last one.
func (r *Rows) Next() bool {
	if r.at >= len(r.cells) {
		return false
	}
	r.at++
	return true
}

// Rewind goes back before the first row.
func (r *Rows) Rewind() { r.at = 0 }

// Null says whether column i is NULL.
func (r *Rows) Null(i int) bool { return r.cell(i) == nil }

// Raw is the bytes of column i as the server sent them, in an unknown encoding.
func (r *Rows) Raw(i int) []byte { return r.cell(i) }

// Bytea is column i, a bytea in hex.
func (r *Rows) Bytea(i int) []byte {
	c := r.cell(i)
	if len(c) < 2 || c[0] != '\\' || c[1] != 'x' {
		return nil
	}
	out := make([]byte, (len(c)-2)/2)
	if _, err := hex.Decode(out, c[2:]); err != nil {
		return nil
	}
	return out
}

// Text is column i decoded by the encoding of the database we are connected to.
func (r *Rows) Text(i int) string { return r.enc.decode(r.own, r.cell(i)) }

// TextOf is column i decoded by the encoding of database db.
func (r *Rows) TextOf(db uint32, i int) string { return r.enc.decode(db, r.cell(i)) }

// Int is column i as an integer.
func (r *Rows) Int(i int) int { return int(r.Int64(i)) }

// Int64 is column i as an integer.
func (r *Rows) Int64(i int) int64 {
	n, _ := strconv.ParseInt(string(r.cell(i)), 10, 64)
	return n
}

// OID is column i as an oid or an xid.
func (r *Rows) OID(i int) uint32 {
	n, _ := strconv.ParseUint(string(r.cell(i)), 10, 32)
	return uint32(n)
}

// Bool is column i as a boolean.
func (r *Rows) Bool(i int) bool {
	c := r.cell(i)
	return len(c) == 1 && c[0] == 't'
}

// Time is column i, microseconds since the epoch, zero for NULL.
func (r *Rows) Time(i int) time.Time {
	if r.Null(i) {
		return time.Time{}
	}
	return time.UnixMicro(r.Int64(i)).UTC()
}

// Seconds is column i, microseconds, as seconds; unknown for NULL.
func (r *Rows) Seconds(i int, unknown float64) float64 {
	if r.Null(i) {
		return unknown
	}
	return max(0, float64(r.Int64(i))/1e6)
}

// Ints is column i, an array of integers.
func (r *Rows) Ints(i int) []int {
	c := r.cell(i)
	if len(c) < 2 || c[0] != '{' {
		return nil
	}
	var out []int
	n, sign, in := 0, 1, false
	for _, b := range c[1:] {
		switch {
		case b >= '0' && b <= '9':
			n, in = n*10+int(b-'0'), true
		case b == '-':
			sign = -1
		default:
			if in {
				out = append(out, sign*n)
			}
			n, sign, in = 0, 1, false
		}
	}
	return out
}

func (r *Rows) cell(i int) []byte {
	if r.at == 0 || r.at > len(r.cells) || i >= len(r.cells[r.at-1]) {
		return nil
	}
	return r.cells[r.at-1][i]
}
