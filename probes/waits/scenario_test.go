package waits_test

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
)

// scenario is one file of testdata/scenarios: sessions, what they do, and what
// the forest must say then.
type scenario struct {
	Name, Title, Why string
	Min, Max         int
	Needs            string // standby
	Mon              string // standby: the forest is read there
	Setup, Teardown  []string
	Sessions         map[string]sessionSpec
	Phases           []phase
	Operator         string

	file, text string
}

func (sc *scenario) uses(word string) bool { return strings.Contains(sc.text, word) }

type sessionSpec struct {
	App, User, DB string
	Port          string // standby
	Late          bool   // connects by a step
}

type phase struct {
	Name   string
	Min    int
	Max    int
	Steps  []step
	Expect *expectation
}

type step struct {
	S, SQL                            string
	Wait, Async, Send, Close, Connect bool
	Error                             string // SQLSTATE
	Cancel, Terminate, Done, Blocked  string
	Until, Mon                        string
	Ran                               []string // of these N run, whichever, and the others wait for one of them
	N                                 int
	As                                []string // how to call them from then on, those who ran first
	Sleep                             time.Duration
}

type expectation struct {
	Only          *bool // false: further edges are fine
	Edges         []edgeSpec
	Roots         []string
	Cycle         []string
	Counts        map[string]int
	KillFrees     map[string][]string `yaml:"kill_frees"`
	RootState     map[string]string   `yaml:"root_state"`
	Pinned        map[string]int
	SafeSnapshot  map[string][]string `yaml:"safe_snapshot"`
	Gate          *int                // sessions that activity shows waiting
	OracleDiffers map[string]string   `yaml:"oracle_differs"`
	Notes         map[string]string   // a part of a note of the session's node
	Best          string              // the tree's best action: "cancel M"
	BestText      string              `yaml:"best_text"`     // a part of its text
	AtOnce        map[string][]string `yaml:"frees_at_once"` // as kill_frees, but who could run at once
	Together      map[string][]string // who must end with a root, by its tree's best action
	Objects       map[string]string   // a part of what a session waits for, in words
	Cycles        [][]string          // more than one
	Victims       map[string]int      // of the trees; cycle: of those that no root leads to, together
	SafeBest      map[string]string   `yaml:"safe_best"`    // as best, of who waits for a safe snapshot
	AtOnceN       map[string]int      `yaml:"at_once"`      // how many run at once when a session ends, whichever
	AtOnceMost    map[string]int      `yaml:"at_once_most"` // … and how many at most: as many where it is not said, -1 any
	AtMost        map[string]bool     `yaml:"at_most"`      // whether a cancel of a session may keep its locks
	Delayed       map[string][]string // the transactions that a command waits for, one after the other
	EndAll        map[string][]string `yaml:"end_all"` // who must end together for a session to run; the player ends them
	Waiting       *int                // sessions that wait, as the header counts them
	Roles         map[string]string   // of nodes

	rootsGiven bool
}

type edgeSpec struct {
	W, B, Kind, Obj, Want, Held, Via string
}

func readScenarios(t *testing.T) []*scenario {
	t.Helper()
	files, err := filepath.Glob("testdata/scenarios/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	if dir := os.Getenv("PGSONDE_SCENARIOS"); dir != "" {
		more, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more...)
	}
	var out []*scenario
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		sc := &scenario{file: strings.TrimSuffix(filepath.Base(f), ".yaml"), text: string(text)}
		dec := yaml.NewDecoder(bytes.NewReader(text))
		dec.KnownFields(true)
		if err := dec.Decode(sc); err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		out = append(out, sc)
	}
	slices.SortFunc(out, func(a, b *scenario) int { return cmp.Compare(a.file, b.file) })
	return out
}

func (e *expectation) UnmarshalYAML(n *yaml.Node) error {
	type plain expectation
	if err := n.Decode((*plain)(e)); err != nil {
		return err
	}
	for i := 0; i < len(n.Content); i += 2 {
		e.rootsGiven = e.rootsGiven || n.Content[i].Value == "roots"
	}
	return nil
}

// settings of the servers scenarios run on: nothing happens by itself. What a
// scenario may change is not among them: these beat ALTER SYSTEM.
func settings() map[string]string {
	return map[string]string{
		"deadlock_timeout": "600s", "autovacuum_naptime": "1s", "max_prepared_transactions": "10", "wal_level": "logical",
		"max_wal_senders": "8", "max_replication_slots": "8", "max_connections": "120", "max_worker_processes": "16",
		"max_parallel_workers": "8", "max_standby_streaming_delay": "-1", "max_standby_archive_delay": "-1", "hot_standby": "on",
	}
}

// TestScenarios plays every file on every major that is there and holds the
// forest, read by a Sampler as a user would, against the file and against
// pg_blocking_pids.
func TestScenarios(t *testing.T) {
	if testing.Short() {
		t.Skip("plays sixty incidents on real servers")
	}
	scenarios := readScenarios(t)
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		st := &stage{t: t, in: in}
		for _, sc := range scenarios {
			t.Run(sc.file, func(t *testing.T) {
				switch {
				case in.Major < sc.Min:
					t.Skipf("needs PostgreSQL %d", sc.Min)
				case sc.Max > 0 && in.Major > sc.Max:
					t.Skipf("is about PostgreSQL %d and before", sc.Max)
				}
				play(t, st, sc)
			})
		}
	})
}
