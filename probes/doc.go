// Package probes reads a PostgreSQL server the way a guest behaves on a dying
// one. A Sampler makes a Snapshot a tick; everything that judges is a pure
// function of Snapshots.
package probes
