package tui

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/bouncer"
)

// poolMoment is a snapshot and what the consoles said with it, as it is recorded.
type poolMoment struct {
	Snapshot *probes.Snapshot
	Told     []toldMoment
	Advisory []bouncer.AdvisoryLock
}

type toldMoment struct {
	Spec      bouncer.PoolerSpec
	Instances []instanceMoment
}

type instanceMoment struct {
	Target  string
	Reading *bouncer.Reading
	Err     string
}

func (m poolMoment) reading() *poolReading {
	r := &poolReading{advisory: m.Advisory, locks: true}
	for _, t := range m.Told {
		told := bouncer.Told{Spec: t.Spec}
		for _, in := range t.Instances {
			x := bouncer.Instance{Target: in.Target, Reading: in.Reading}
			if in.Err != "" {
				x.Err = errors.New(in.Err)
			}
			if in.Reading != nil && in.Reading.At.After(r.at) {
				r.at = in.Reading.At
			}
			told.Instances = append(told.Instances, x)
		}
		r.told = append(r.told, told)
	}
	for _, told := range r.told {
		for i := range told.Instances {
			told.Instances[i].At = r.at
		}
	}
	return r
}

// poolMoments are the readings of real servers: at rest, in an incident, and
// with one console away.
func poolMoments(t testing.TB) []poolMoment {
	t.Helper()
	b, err := os.ReadFile("testdata/poolers.json")
	if err != nil {
		t.Fatal(err)
	}
	var all []poolMoment
	sc := bufio.NewScanner(bytes.NewReader(b))
	sc.Buffer(nil, 4<<20)
	for sc.Scan() {
		var m poolMoment
		if err := json.Unmarshal(sc.Bytes(), &m); err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// drawPoolers is the Poolers screen at one of the moments.
func drawPoolers(t testing.TB, w, h int, o Options, m poolMoment) *drawn {
	t.Helper()
	o.Consoles = silentConsoles{}
	if o.Screen == "" {
		o.Screen = "Poolers"
	}
	d := draw(t, w, h, o, []*probes.Snapshot{m.Snapshot})
	d.send(poolersMsg{m.reading()})
	return d
}

// silentConsoles are never asked: their answers are sent by hand.
type silentConsoles struct{ Consoles }

func TestGoldenPoolers(t *testing.T) {
	const rest, incident, away = 0, 1, 2
	all := poolMoments(t)
	tests := []struct {
		name string
		w, h int
		opt  Options
		at   int
		keys []string
	}{
		{"poolers-40x10", 40, 10, Options{}, incident, nil},
		{"poolers-80x24", 80, 24, Options{}, incident, nil},
		{"poolers-120x40", 120, 40, Options{}, incident, nil},
		{"poolers-ascii-80x24", 80, 24, Options{ASCII: true}, incident, nil},
		{"poolers-rest-80x24", 80, 24, Options{}, rest, nil},
		{"poolers-away-80x24", 80, 24, Options{}, away, []string{"G", "k"}},
		{"poolers-instance-80x24", 80, 24, Options{}, incident, []string{"g"}},
		{"pool-40x10", 40, 10, Options{}, incident, []string{"enter"}},
		{"pool-80x24", 80, 24, Options{}, incident, []string{"enter"}},
		{"pool-120x40", 120, 40, Options{}, incident, []string{"enter"}},
		{"pool-root-80x24", 80, 24, Options{}, incident, []string{"enter", "enter"}},
		{"roles-poolers-80x24", 80, 24, Options{Screen: "Roles"}, incident, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := drawPoolers(t, tt.w, tt.h, tt.opt, all[tt.at])
			d.press(tt.keys...)
			golden(t, tt.name, d.text())
		})
	}
}

// TestPoolersOnlyWithConsoles: no console, no screen.
func TestPoolersOnlyWithConsoles(t *testing.T) {
	d := draw(t, 80, 24, Options{}, recorded(t, "incident"))
	d.hasNot("Poolers")
	d = draw(t, 80, 24, Options{Consoles: silentConsoles{}}, recorded(t, "incident"))
	d.has("Poolers")
	d.press(":", "p", "o", "o", "l", "enter")
	d.has("reading the consoles")
}

// TestPoolersPace: with every tick while the screen is on, else every 10 s; never
// two readings at once.
func TestPoolersPace(t *testing.T) {
	m := poolMoments(t)[1]
	d := drawPoolers(t, 80, 24, Options{Screen: "Roles"}, m)
	if d.pool.busy {
		t.Fatal("busy after an answer")
	}
	gen := d.pool.timer
	if cmd := d.poolersDue(poolersDueMsg{gen: gen - 1}); cmd != nil {
		t.Error("an old timer asks")
	}
	at := time.Unix(1_700_000_100, 0)
	if cmd := d.poolersDue(poolersDueMsg{gen, at}); cmd == nil || !d.pool.busy {
		t.Fatal("the timer does not ask")
	}
	if cmd := d.askPoolers(at); cmd != nil {
		t.Error("asks while it is asking")
	}
	d.send(poolersMsg{m.reading()})
	d.press("space")
	if d.poolersDue(poolersDueMsg{d.pool.timer, at}); d.pool.busy {
		t.Error("asks while paused")
	}
	d.press("space")
	if d.goTo(len(d.views) - 1); !d.pool.busy {
		t.Error("opening the screen does not ask")
	}
}

// TestPoolersHistory: looking back shows what the consoles said then.
func TestPoolersHistory(t *testing.T) {
	all := poolMoments(t)
	d := draw(t, 120, 40, Options{Consoles: silentConsoles{}, Screen: "Poolers"}, []*probes.Snapshot{all[0].Snapshot})
	d.send(poolersMsg{all[0].reading()})
	d.hasNot("paused")
	d.answer(all[1].Snapshot)
	d.send(poolersMsg{all[1].reading()})
	d.has("paused")
	d.press("[")
	d.hasNot("paused")
	d.press("]")
	d.has("paused")
}
