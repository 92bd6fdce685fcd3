package probes

import (
	"strconv"
	"time"
)

// BackendID is PID@backend_start (µs since the epoch), "" when start is zero.
func BackendID(pid int, start time.Time) string {
	if start.IsZero() {
		return ""
	}
	return strconv.Itoa(pid) + "@" + strconv.FormatInt(start.UnixMicro(), 10)
}
