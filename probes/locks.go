package probes

import "time"

// Locks is one reading of who waits for whom.
type Locks struct {
	At   time.Time // the server's clock; older than Snapshot.At when the panel is late
	Took time.Duration
}
