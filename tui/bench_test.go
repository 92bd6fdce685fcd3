package tui

import (
	"context"
	"io"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"

	"github.com/pgsonde/pgsonde/probes"
)

// meter is a terminal that counts.
type meter struct {
	n     int
	frame chan int
}

func (m *meter) Write(p []byte) (int, error) {
	m.n += len(p)
	select {
	case m.frame <- m.n:
	default:
	}
	return len(p), nil
}

// stream is a Source that answers when it is told to.
type stream struct {
	replay
	next chan *probes.Snapshot
}

func (s *stream) Tick(ctx context.Context, _ probes.Want) (*probes.Snapshot, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case x := <-s.next:
		return x, nil
	}
}

func (s *stream) Interval(time.Duration) time.Duration { return 0 }

// calm is the next reading of a server where transactions get older and, with
// changes, one of three roles may have a connection more or less.
func calm(all []*probes.Snapshot, i int, rnd *rand.Rand, changes bool) *probes.Snapshot {
	s := *all[0]
	s.Seq, s.At = int64(i+1), s.At.Add(time.Duration(i)*time.Second)
	s.Groups = append([]probes.Group{}, s.Groups...)
	for n := range s.Groups {
		if s.Groups[n].MaxTxS >= 1 {
			s.Groups[n].MaxTxS += float64(i)
		}
	}
	for changes {
		g := &s.Groups[rnd.IntN(len(s.Groups))]
		if g.App == "werft:scheduler" || g.App == "werft:reconciler" || g.App == "werft:checkpoint-gc" {
			g.N = max(1, g.N+rnd.IntN(3)-1)
			break
		}
	}
	return &s
}

// BenchmarkCalmTick reports what one tick of a calm server costs the terminal
// in bytes and us in CPU, at 80x24: when only ages change, and when a role
// changes in two of three ticks.
func BenchmarkCalmTick(b *testing.B) {
	b.Run("ages", func(b *testing.B) { benchTicks(b, false) })
	b.Run("changes", func(b *testing.B) { benchTicks(b, true) })
}

func benchTicks(b *testing.B, changes bool) {
	all := recorded(b, "incident")
	src := &stream{next: make(chan *probes.Snapshot)}
	out := &meter{frame: make(chan int, 1)}
	in, keys := io.Pipe()
	ctx, cancel := context.WithCancel(b.Context())
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, Options{
			Source: src, Budget: exampleBudget(b), Interval: time.Millisecond, In: in, Out: out,
			Env: []string{"TERM=xterm-256color", "LANG=C.UTF-8"},
		}, tea.WithColorProfile(colorprofile.ANSI256), tea.WithWindowSize(80, 24))
	}()
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 70 { // the trends are full after this
		src.next <- calm(all, i, rnd, changes)
	}
	time.Sleep(200 * time.Millisecond)
	start, cpu := out.n, cpuTime()
	for i := range b.N {
		src.next <- calm(all, 70+i, rnd, changes)
		time.Sleep(70 * time.Millisecond) // a frame or two pass
	}
	time.Sleep(100 * time.Millisecond)
	b.ReportMetric(float64(out.n-start)/float64(b.N), "bytes/tick")
	b.ReportMetric(float64((cpuTime()-cpu).Microseconds())/float64(b.N), "cpu-µs/tick")
	cancel()
	<-done
	keys.Close()
}

func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkFirstFrame reports the time from Run to the first bytes of a frame.
func BenchmarkFirstFrame(b *testing.B) {
	all := recorded(b, "incident")
	f := exampleBudget(b)
	for b.Loop() {
		ctx, cancel := context.WithCancel(b.Context())
		src := &stream{next: make(chan *probes.Snapshot)}
		out := &meter{frame: make(chan int, 1)}
		in, keys := io.Pipe()
		done := make(chan error, 1)
		go func() {
			done <- run(ctx, Options{Source: src, Budget: f, In: in, Out: out, Env: []string{"TERM=xterm-256color", "LANG=C.UTF-8"}},
				tea.WithColorProfile(colorprofile.ANSI256), tea.WithWindowSize(80, 24))
		}()
		src.next <- all[5]
		for n := range out.frame {
			if n > 1500 {
				break
			}
		}
		cancel()
		<-done
		keys.Close()
	}
}

// BenchmarkView draws one frame of the worst case.
func BenchmarkView(b *testing.B) {
	d := draw(b, 200, 50, Options{}, recorded(b, "incident"))
	b.ReportAllocs()
	for b.Loop() {
		d.drawn = nil
		d.View()
	}
}

// BenchmarkAnswer takes one reading and draws it at 80x24.
func BenchmarkAnswer(b *testing.B) {
	all := recorded(b, "incident")
	d := draw(b, 80, 24, Options{}, all)
	b.ReportAllocs()
	for b.Loop() {
		d.answer(all[5])
		d.View()
	}
}
