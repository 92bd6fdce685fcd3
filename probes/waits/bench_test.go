//go:build unix

package waits

import (
	"fmt"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

const benchSessions = 5000

// crowd is a reading of 5,000 sessions in one of the shapes incidents have.
func crowd(shape string) *probes.Locks {
	var rows []probes.LockRow
	add := func(pid int, m probes.LockMode, t probes.LockTag, since int) {
		r := probes.LockRow{PID: pid, Mode: m, Tag: t, Granted: since == 0}
		if since > 0 {
			r.WaitStart = epoch.Add(time.Duration(since) * 10 * time.Millisecond)
		}
		rows = append(rows, r)
	}
	xid := func(n int) probes.LockTag { return probes.LockTag{Type: "transactionid", XID: uint32(n)} }
	rel := func(n int) probes.LockTag { return probes.LockTag{Type: "relation", Database: 5, Relation: uint32(n)} }
	row := probes.LockTag{Type: "tuple", Database: 5, Relation: 1, Tuple: 1}
	switch shape {
	case "hot row":
		add(1, probes.ExclusiveLock, xid(1), 0)
		add(2, probes.ExclusiveLock, row, 0)
		add(2, probes.ShareLock, xid(1), 1)
		for pid := 3; pid <= benchSessions; pid++ {
			add(pid, probes.ExclusiveLock, row, pid)
		}
	case "queued DDL", "queue in a circle":
		add(1, probes.AccessShareLock, rel(1), 0)
		add(2, probes.AccessExclusiveLock, rel(1), 1)
		for pid := 3; pid <= benchSessions; pid++ {
			add(pid, []probes.LockMode{probes.AccessShareLock, probes.RowExclusiveLock}[pid%2], rel(1), pid)
		}
		if shape != "queued DDL" {
			add(benchSessions, probes.ExclusiveLock, xid(1), 0)
			add(1, probes.ShareLock, xid(1), benchSessions+1)
		}
	case "chain":
		for pid := 1; pid <= benchSessions; pid++ {
			add(pid, probes.ExclusiveLock, xid(pid), 0)
			if pid > 1 {
				add(pid, probes.ShareLock, xid(pid-1), pid)
			}
		}
	case "100 trees":
		for pid := 1; pid <= benchSessions; pid++ {
			add(pid, probes.ExclusiveLock, xid(pid), 0)
			if root := pid % 100; pid > 100 {
				add(pid, probes.ShareLock, xid(max(1, root+100*(pid%3))), pid)
			}
		}
	case "circles":
		for pid := 1; pid <= benchSessions; pid++ {
			add(pid, probes.ExclusiveLock, xid(pid), 0)
			add(pid, probes.ShareLock, xid(1+(pid+(pid%5)*7)%benchSessions), pid)
		}
	}
	return reading(rows)
}

func BenchmarkBuild(b *testing.B) {
	for _, shape := range []string{"hot row", "queued DDL", "chain", "100 trees", "circles", "queue in a circle"} {
		l := crowd(shape)
		b.Run(fmt.Sprintf("%s of %d", shape, benchSessions), func(b *testing.B) {
			b.ReportAllocs()
			least := time.Hour // what else the machine does is not in it
			for b.Loop() {
				begin := time.Now()
				if f := Build(nil, l, nil); f.Waiters == 0 {
					b.Fatal("nobody waits")
				}
				least = min(least, time.Since(begin))
			}
			b.ReportMetric(float64(least.Microseconds())/1000, "least-ms")
		})
	}
}
