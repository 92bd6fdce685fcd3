//go:build unix

package bouncer

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pgsonde/pgsonde/probes/bouncer/bouncertest"
	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// fleetOf starts poolers and the fleet that reads them: two instances of one
// pooler, and another pooler.
func fleetOf(t *testing.T, timeout time.Duration) (*Fleet, []*bouncertest.Pooler) {
	t.Helper()
	bouncertest.Need(t)
	srv := pgtest.Start(t, pgtest.Any(t), pgserver.Options{})
	var all []*bouncertest.Pooler
	for range 3 {
		all = append(all, bouncertest.Start(t, srv.DSN("postgres", "postgres"), bouncertest.Options{}))
	}
	at := func(i int) Options { return Options{DSN: all[i].Console(), Timeout: timeout} }
	f, err := NewFleet([]Declared{
		{Spec: PoolerSpec{Name: "web"}, Consoles: []Options{at(0), at(1)}},
		{Spec: PoolerSpec{Name: "jobs"}, Consoles: []Options{at(2)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	return f, all
}

// read reads the fleet; in the answer are the instances in the order they were
// declared.
func read(t *testing.T, f *Fleet) []Instance {
	t.Helper()
	told := f.Read(t.Context())
	if len(told) != 2 || told[0].Spec.Name != "web" || told[1].Spec.Name != "jobs" || len(told[0].Instances) != 2 || len(told[1].Instances) != 1 {
		t.Fatalf("got %+v, want two instances of web and one of jobs", told)
	}
	return append(append([]Instance{}, told[0].Instances...), told[1].Instances...)
}

// TestFleet: all are read; one that goes away keeps its last reading beside its
// error, the others are read on; when it is back it is read again.
func TestFleet(t *testing.T) {
	f, all := fleetOf(t, 20*time.Second)
	for i, in := range read(t, f) {
		if in.Err != nil || in.Reading == nil || in.Target != in.Reading.Target || !strings.Contains(in.Target, "pgbouncer") {
			t.Errorf("%d: got %+v, want a reading", i, in)
		}
	}
	all[1].Stop()
	first := read(t, f)
	second := read(t, f)
	if first[1].Err == nil || second[1].Err == nil || first[1].Reading == nil || second[1].Reading != first[1].Reading {
		t.Errorf("away: got %+v, then %+v, want an error beside the last reading", first[1], second[1])
	}
	for _, i := range []int{0, 2} {
		if second[i].Err != nil || second[i].Reading == first[i].Reading {
			t.Errorf("%d: got %+v, want a new reading", i, second[i])
		}
	}
	restart(t, all[1])
	if back := read(t, f)[1]; back.Err != nil || back.Reading == first[1].Reading {
		t.Errorf("back: got %+v, want a new reading", back)
	}
}

// TestFleetOfOneThatWasNeverThere: its place in the answer is an error that names
// it, and when it comes up later it is read.
func TestFleetOfOneThatWasNeverThere(t *testing.T) {
	f, all := fleetOf(t, 20*time.Second)
	all[0].Stop()
	in := read(t, f)
	if in[0].Err == nil || in[0].Reading != nil || in[0].Target == "" || !strings.Contains(in[0].Err.Error(), in[0].Target) {
		t.Errorf("got %+v, want an error that names its target", in[0])
	}
	if in[1].Err != nil || in[2].Err != nil {
		t.Errorf("got %v, %v, want the others read", in[1].Err, in[2].Err)
	}
	restart(t, all[0])
	if in := read(t, f)[0]; in.Err != nil {
		t.Errorf("got %v, want it read once it is up", in.Err)
	}
}

// TestFleetWithASlowOne: one that hangs costs its own time-out, once for all, and
// none of the others' readings.
func TestFleetWithASlowOne(t *testing.T) {
	f, all := fleetOf(t, 2*time.Second)
	read(t, f)
	if err := syscall.Kill(all[0].PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	before := time.Now()
	in := read(t, f)
	if in[0].Err == nil || !strings.Contains(in[0].Err.Error(), "no answer within 2s") || in[0].Reading == nil {
		t.Errorf("got %+v, want a time-out beside the last reading", in[0])
	}
	for _, i := range []int{1, 2} {
		if in[i].Err != nil || in[i].Reading.At.Before(before) {
			t.Errorf("%d: got %+v, want a new reading", i, in[i])
		}
	}
	if err := syscall.Kill(all[0].PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(3 * time.Minute); ; { // two seconds may be too little on a busy machine
		in := read(t, f)[0]
		if in.Err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("never read again: %v", in.Err)
		}
	}
}

// TestFleetWithOneThatHung: it is not given all its time again at once, so that the
// others are read at their pace; later it is.
func TestFleetWithOneThatHung(t *testing.T) {
	f, all := fleetOf(t, 5*time.Minute)
	read(t, f)
	if err := syscall.Kill(all[0].PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	s := f.poolers[0].seats[0]
	s.hung, s.full = true, time.Now().Add(time.Hour) // as after an attempt of five minutes
	begin := time.Now()
	if in := read(t, f); in[0].Err == nil || in[0].Reading == nil || in[1].Err != nil || !s.hung {
		t.Errorf("got %+v, want the first still away and the second read", in)
	}
	if took := time.Since(begin); took > 2*time.Minute {
		t.Errorf("it took %v, want about a second", took)
	}
	if err := syscall.Kill(all[0].PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	s.full = time.Time{}
	if in := read(t, f); in[0].Err != nil || s.hung || s.full.IsZero() {
		t.Errorf("got %+v, want it read with all its time", in[0])
	}
}

// TestFleetEndsWithItsContext: a read that is under way ends, and Close leaves
// nothing running, also when the fleet was never read.
func TestFleetEndsWithItsContext(t *testing.T) {
	f, all := fleetOf(t, time.Minute)
	leaks := goleak.IgnoreCurrent()
	read(t, f)
	if err := syscall.Kill(all[2].PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan []Told)
	go func() { done <- f.Read(ctx) }()
	cancel()
	if in := (<-done)[1].Instances[0]; in.Err == nil {
		t.Errorf("got %+v, want an error", in)
	}
	f.Close()
	f.Close() // twice is no harm
	if err := syscall.Kill(all[2].PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	unread, err := NewFleet([]Declared{{Spec: PoolerSpec{Name: "x"}, Consoles: []Options{{DSN: all[0].Console()}}}})
	if err != nil {
		t.Fatal(err)
	}
	unread.Close()
	goleak.VerifyNone(t, leaks)
}

// One console twice would count its clients twice, by whatever words it is named.
func TestNewFleetRefusesOneTwice(t *testing.T) {
	for _, dsns := range [][2]string{{"host=h user=a", "host=h user=b port=6432"}, {"host=h", "postgres://u@h/pgbouncer"}} {
		_, err := NewFleet([]Declared{{Spec: PoolerSpec{Name: "a"}, Consoles: []Options{{DSN: dsns[0]}}}, {Spec: PoolerSpec{Name: "b"}, Consoles: []Options{{DSN: dsns[1]}}}})
		if err == nil || !strings.Contains(err.Error(), "console of pooler b: h:6432/pgbouncer is given twice") {
			t.Errorf("%q: got %v, want that it is given twice", dsns, err)
		}
	}
	if _, err := NewFleet([]Declared{{Consoles: []Options{{DSN: "host=h"}, {DSN: "host=h port=6433"}, {DSN: "host=i"}}}}); err != nil {
		t.Errorf("got %v, want three consoles", err)
	}
}

// A connection string that cannot be read is said when the fleet is made, without
// its password.
func TestNewFleetRefuses(t *testing.T) {
	_, err := NewFleet([]Declared{{Spec: PoolerSpec{Name: "web"}, Consoles: []Options{{DSN: "host=h password=geheim port=x"}}}})
	if err == nil || !strings.Contains(err.Error(), "console of pooler web") || strings.Contains(err.Error(), "geheim") || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v, want one line about the console of web, without its password", err)
	}
}
