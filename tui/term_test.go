package tui

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/colorprofile"
	"github.com/charmbracelet/x/vt"

	"github.com/pgsonde/pgsonde/probes"
)

// terminal is a terminal in memory: what the program writes ends on a screen,
// and keys come from its keyboard. The emulator is behind one lock.
type terminal struct {
	mu      sync.Mutex
	emu     *vt.Emulator
	written []byte
	keys    *io.PipeReader
	board   *io.PipeWriter
}

func newTerminal(w, h int) *terminal {
	t := &terminal{emu: vt.NewEmulator(w, h)}
	t.keys, t.board = io.Pipe()
	go io.Copy(io.Discard, t.emu) // its answers to queries: a silent terminal
	return t
}

// close ends the keyboard and the reader of answers.
func (t *terminal) close() {
	t.board.Close()
	if c, ok := t.emu.InputPipe().(io.Closer); ok {
		c.Close()
	}
}

// Write takes output as a tty would: a newline returns the carriage too.
func (t *terminal) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.written = append(t.written, p...)
	if _, err := t.emu.Write([]byte(strings.ReplaceAll(string(p), "\n", "\r\n"))); err != nil {
		return 0, err
	}
	return len(p), nil
}

func (t *terminal) screen() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(t.emu.String(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " \r")
	}
	return strings.Join(lines, "\n")
}

// running is a program on a terminal.
type running struct {
	t    *testing.T
	term *terminal
	done chan error
	src  *replay
}

// start runs the UI; the program reads keys from the terminal's pipe.
func start(t *testing.T, ctx context.Context, w, h int, o Options, src *replay) *running {
	t.Helper()
	r := &running{t: t, term: newTerminal(w, h), done: make(chan error, 1), src: src}
	o.In, o.Out = r.term.keys, r.term
	o.Env = []string{"TERM=xterm-256color", "LANG=C.UTF-8", "COLORTERM="}
	if o.Budget == nil {
		o.Budget = exampleBudget(t)
	}
	if o.Open == nil {
		o.Open = func(context.Context) (Source, error) { return src, nil }
	}
	go func() {
		r.done <- run(ctx, o, tea.WithColorProfile(colorprofile.ANSI256), tea.WithWindowSize(w, h))
	}()
	return r
}

func (r *running) typeKeys(s string) {
	r.t.Helper()
	if _, err := io.WriteString(r.term.board, s); err != nil {
		r.t.Fatal(err)
	}
}

// until waits for text on the screen.
func (r *running) until(text string) {
	r.t.Helper()
	for range 6000 {
		if strings.Contains(r.term.screen(), text) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.t.Fatalf("%q does not appear; the screen is\n%s", text, r.term.screen())
}

// press presses keys until text is on the screen.
func (r *running) press(keys, text string) {
	r.t.Helper()
	for range 600 {
		r.typeKeys(keys)
		for range 10 {
			if strings.Contains(r.term.screen(), text) {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
	r.t.Fatalf("%q does not appear; the screen is\n%s", text, r.term.screen())
}

// ended waits for the program and closes its keyboard.
func (r *running) ended() error {
	r.t.Helper()
	defer r.term.close()
	select {
	case err := <-r.done:
		r.src.mu.Lock()
		defer r.src.mu.Unlock()
		if r.src.n > 0 && !r.src.closed {
			r.t.Error("the source was not closed")
		}
		if r.src.most > 1 {
			r.t.Errorf("%d ticks at once, want 1", r.src.most)
		}
		return err
	case <-time.After(time.Minute):
		r.t.Fatalf("does not end; the screen is\n%s", r.term.screen())
		return nil
	}
}

func TestProgramDrillsInAndQuits(t *testing.T) {
	r := start(t, t.Context(), 80, 24, Options{}, &replay{snaps: recorded(t, "incident")[5:]})
	r.until("FULL 10.0.3.7")
	r.typeKeys("\r")
	r.until("6 of 7 busy")
	r.typeKeys("j")
	r.typeKeys("\r")
	r.until("where id = 4711 -- the order page")
	r.typeKeys("q")
	r.until("pod, pid")
	r.typeKeys("\x1b") // back, never quit
	r.until("q quit")
	r.typeKeys("\x1b")
	time.Sleep(100 * time.Millisecond) // else it is the start of alt+2
	r.typeKeys(":sessions\r")
	r.until("waits for")
	r.typeKeys("q")
	if err := r.ended(); err != nil {
		t.Errorf("got %v, want nil", err)
	}
	if r.term.emu.IsAltScreen() {
		t.Error("the alternate screen was not left")
	}
}

func TestFirstFrameComesBeforeTheConnection(t *testing.T) {
	wait := make(chan struct{})
	src := &replay{snaps: recorded(t, "incident")}
	r := start(t, t.Context(), 80, 24, Options{Target: "db1", Open: func(context.Context) (Source, error) { <-wait; return src, nil }}, src)
	r.until("connecting to db1")
	close(wait)
	r.until("scheduler")
	r.typeKeys("\x03")
	if err := r.ended(); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

func TestQuitWhileConnecting(t *testing.T) {
	src := &replay{snaps: recorded(t, "incident")}
	r := start(t, t.Context(), 80, 24, Options{Open: func(ctx context.Context) (Source, error) { <-ctx.Done(); return nil, ctx.Err() }}, src)
	r.until("connecting")
	r.typeKeys("q")
	if err := r.ended(); err != nil {
		t.Errorf("got %v, want nil", err)
	}
}

func TestFailedConnectionEndsWithItsError(t *testing.T) {
	want := errors.New("password refused")
	src := &replay{}
	r := start(t, t.Context(), 80, 24, Options{Open: func(context.Context) (Source, error) { return nil, want }}, src)
	if err := r.ended(); !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}

func TestContextEndsTheProgram(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r := start(t, ctx, 80, 24, Options{}, &replay{snaps: recorded(t, "incident"), slow: time.Hour})
	r.until("reading")
	cancel()
	if err := r.ended(); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestTooSmallWindowQuits(t *testing.T) {
	for _, size := range []struct{ w, h int }{{1, 1}, {39, 24}, {80, 9}} {
		r := start(t, t.Context(), size.w, size.h, Options{}, &replay{snaps: recorded(t, "incident")})
		r.until("q")
		r.typeKeys("q")
		if err := r.ended(); err != nil {
			t.Errorf("%dx%d: got %v, want nil", size.w, size.h, err)
		}
	}
}

func TestServerAwayAndBack(t *testing.T) {
	src := &replay{snaps: recorded(t, "incident")}
	r := start(t, t.Context(), 80, 24, Options{Interval: 20 * time.Millisecond}, src)
	r.until("scheduler")
	src.set(func(s *replay) {
		s.fail = &probes.Unavailable{State: "restarting", Err: errors.New("refused"), RetryIn: 10 * time.Millisecond}
	})
	r.until("! not answering")
	src.set(func(s *replay) { s.fail = nil })
	for range 6000 {
		if !strings.Contains(r.term.screen(), "not answering") {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if s := r.term.screen(); strings.Contains(s, "not answering") {
		t.Errorf("does not recover:\n%s", s)
	}
	r.typeKeys("\x03")
	if err := r.ended(); err != nil {
		t.Error(err)
	}
}

// TestTicksDoNotPileUp plays two minutes with a source that takes longer than
// the interval, in no time.
func TestTicksDoNotPileUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		src := &replay{snaps: recorded(t, "incident"), slow: 3 * time.Second}
		r := start(t, ctx, 80, 24, Options{}, src)
		time.Sleep(2 * time.Minute)
		if n := src.ticks(); n < 29 || n > 31 { // 3 s and the wait of 1 s
			t.Errorf("got %d ticks in two minutes, want 30", n)
		}
		if s := r.term.screen(); !strings.Contains(s, "scheduler") {
			t.Errorf("no data on screen:\n%s", s)
		}
		cancel()
		if err := <-r.done; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want %v", err, context.Canceled)
		}
		if src.most > 1 {
			t.Errorf("%d ticks at once, want 1", src.most)
		}
		r.term.close()
		time.Sleep(time.Second)
	})
}

// TestHostileTextIsDrawnHarmless looks at the bytes that the terminal got.
func TestHostileTextIsDrawnHarmless(t *testing.T) {
	const payload = "\x1b]0;PWNED\x07\x1b[2J\x1b[?1049l\x1b]52;c;cm0=\x07\u009b31m\x9b5A\u202e\u200b\u2028\r\n\b\x00\xff\xfe\U000e0041" +
		"\u0301\u0301\u0301\u0301\u0301\u0301日本"
	snap := *recorded(t, "incident")[5]
	snap.Server.Target = "db" + payload
	snap.Groups = append([]probes.Group{}, snap.Groups...)
	for i := range snap.Groups {
		snap.Groups[i].App += payload
		snap.Groups[i].User += payload
	}
	snap.Sessions = append([]probes.Session{}, snap.Sessions...)
	for i := range snap.Sessions {
		s := &snap.Sessions[i]
		s.App, s.User, s.Database, s.WaitEvent = s.App+payload, s.User+payload, s.Database+payload, s.WaitEvent+payload
		s.Query = payload + strings.Repeat("x"+payload, 50)
	}
	snap.Notes = []probes.Note{{Text: "note " + payload}}
	r := start(t, t.Context(), 120, 40, Options{Interval: time.Hour}, &replay{snaps: []*probes.Snapshot{&snap}})
	r.until("pods")
	for _, k := range []string{"w", "w", ":locks\r", "w", "j", "K", "n", ":sessions\r", "w", "\r", "Y", "q", "1", "\r", "j", "/", "PWNED", "\r", "q"} {
		r.typeKeys(k)
		time.Sleep(60 * time.Millisecond)
	}
	r.typeKeys("\x03")
	if err := r.ended(); err != nil {
		t.Error(err)
	}
	out := string(r.term.written)
	if !strings.Contains(out, "PWNED") {
		t.Fatal("the text is not on the screen at all")
	}
	for _, bad := range []string{
		"\x1b]0;PWNED", "\x1b[2J\x1b[?1049l", "]52;c;cm0=\x07", "\u009b", "\u202e", "\u200b", "\u2028", "\x9b5A",
		"\x00", "\xff", "\U000e0041", strings.Repeat("\u0301", 5),
	} {
		if strings.Contains(out, bad) {
			t.Errorf("%q reached the terminal", bad)
		}
	}
	if n := strings.Count(out, "\x1b[?1049l"); n != 1 {
		t.Errorf("the alternate screen was left %d times, want once", n)
	}
}

func TestResize(t *testing.T) {
	d := draw(t, 80, 24, Options{}, recorded(t, "incident"))
	d.press("enter", "j", "j")
	for w := 200; w > 0; w -= 3 {
		for _, h := range []int{1, 9, 10, 11, 14, 24, 50} {
			d.send(tea.WindowSizeMsg{Width: w, Height: h})
			d.text() // checks the number and the width of lines
		}
	}
	d.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	if s := d.text(); !strings.Contains(s, "10336") {
		t.Errorf("the selected session is not on screen:\n%s", s)
	}
	d.send(tea.WindowSizeMsg{})
	if n := len(d.lines()); n != 0 {
		t.Errorf("0x0: got %d lines", n)
	}
}
