package tui

import "time"

// slid remembers that a reading, not a key, put the cursor on another row.
type slid struct {
	to string
	at time.Time // of the reading
}

// slidTime is how long a person may still mean the row before, on the server's
// clock.
const slidTime = 2 * time.Second

// note compares the rows under the cursor before and after a reading.
func (s *slid) note(was, now string, f *frame) {
	if was != "" && now != "" && was != now {
		*s = slid{now, f.snap.At}
	}
}

// recent says that the cursor came to a row without a key, just now.
func (s *slid) recent(key string, f *frame) bool {
	return s.to == key && f.snap.At.Sub(s.at) < slidTime
}
