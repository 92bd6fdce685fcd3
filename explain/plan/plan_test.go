package plan

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// testdata holds what PostgreSQL 15 and 18 printed: NAME-MAJOR.json.
func read(t testing.TB, name string) *Tree {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	tree, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return tree
}

func fixtures(t testing.TB) []string {
	t.Helper()
	paths, err := filepath.Glob("testdata/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for i, p := range paths {
		paths[i] = strings.TrimSuffix(filepath.Base(p), ".json")
	}
	return paths
}

// What the nodes spent themselves has to add up to what the statement spent.
func TestExclusiveAddsUp(t *testing.T) {
	for _, name := range fixtures(t) {
		tree := read(t, name)
		var ms, blocks float64
		tree.Root.Walk(func(n *Node) bool {
			ms, blocks = ms+n.ExclusiveMS, blocks+n.ExclusiveBlocks
			return true
		})
		if want := tree.Root.Buffers.Shared(); blocks != want {
			t.Errorf("%s: exclusive blocks add up to %g, want %g", name, blocks, want)
		}
		if want := tree.Root.Actual.TotalMS; math.Abs(ms-want) > 0.02*want+0.01 {
			t.Errorf("%s: exclusive times add up to %g ms, want %g", name, ms, want)
		}
	}
}

// A CTE's work belongs to the scan that pulls it, an InitPlan's to the node that
// asks for its value, not to the node that EXPLAIN prints them under.
func TestExclusiveOwners(t *testing.T) {
	for _, major := range []string{"15", "18"} {
		cte := read(t, "cte-"+major)
		scan := cte.Root.Find(func(n *Node) bool { return n.Type == "CTE Scan" })
		if scan.ExclusiveBlocks != 0 {
			t.Errorf("cte-%s: CTE Scan has %g blocks of its own, want 0: they are the CTE's", major, scan.ExclusiveBlocks)
		}
		if cte.Root.ExclusiveMS > 1 {
			t.Errorf("cte-%s: the Limit has %g ms of its own", major, cte.Root.ExclusiveMS)
		}
		init := read(t, "initplan-"+major)
		scan = init.Root.Find(func(n *Node) bool { return n.Type == "Index Scan" && n.Relationship == "Outer" })
		if scan.ExclusiveBlocks != 7 || init.Root.ExclusiveBlocks != 0 {
			t.Errorf("initplan-%s: scan has %g blocks of its own, limit %g, want 7 and 0", major, scan.ExclusiveBlocks, init.Root.ExclusiveBlocks)
		}
	}
}

func TestLoopsAndRemoved(t *testing.T) {
	for _, major := range []string{"15", "18"} {
		tree := read(t, "loop-"+major)
		scan := tree.Root.Find(func(n *Node) bool { return strings.Contains(n.Filter, "author_id") })
		if rows, ok := scan.TotalRows(); !ok || rows != 3 {
			t.Errorf("loop-%s: %g rows (%t), want 3", major, rows, ok)
		}
		if removed, ok := scan.Removed(); !ok || removed != 3*243 {
			t.Errorf("loop-%s: %g rows removed (%t), want 729: 243 a loop", major, removed, ok)
		}
		if f := scan.EstimateFactor(); f != 0 {
			t.Errorf("loop-%s: estimate factor %g of a scan that a Limit stopped, want 0", major, f)
		}
		del := read(t, "delete-"+major)
		if del.Root.Operation != "Delete" || del.Root.Schema != "corpus" || del.Root.Relation != "tiny" {
			t.Errorf("delete-%s: got %s on %s.%s", major, del.Root.Operation, del.Root.Schema, del.Root.Relation)
		}
	}
}

func TestEstimateFactor(t *testing.T) {
	n := &Node{Type: "Seq Scan", PlanRows: 10, Actual: &Actual{Rows: 1200, Loops: 1}}
	if f := n.EstimateFactor(); f != 120 {
		t.Errorf("got %g, want 120", f)
	}
	n.Actual.Rows = 0 // counted as one row
	if f := n.EstimateFactor(); f != 0.1 {
		t.Errorf("got %g, want 0.1", f)
	}
	n.Actual.Loops = 0
	if f := n.EstimateFactor(); f != 0 || !n.NeverExecuted() {
		t.Errorf("got %g for a node that never ran", f)
	}
}

func TestParseForms(t *testing.T) {
	node := `{"Node Type": "Limit", "Startup Cost": 0.1, "Total Cost": 2, "Plan Rows": 3.5, "Disabled": true, "Subplans Removed": 2}`
	for name, text := range map[string]string{
		"array":        `[{"Plan": ` + node + `}]`,
		"object":       `{"Query Text": "select 1", "Plan": ` + node + `}`,
		"log line":     "2026-01-01 LOG:  duration: 1 ms  plan:\n{\"Query Text\": \"x\", \"Plan\": " + node + "}\n",
		"log prefix":   "2026-01-01 UTC [6333] app@db {x} LOG:  duration: 1 ms  plan:\n\t{\n\t  \"Plan\": " + node + "\n\t}\n2026-01-01 UTC [6334] LOG: next\n",
		"psql":         "        QUERY PLAN        \n--------------------\n [                +\n   {\"Plan\": " + node + " +\n   }  +\n ]\n(1 row)\n",
		"trailing row": `[{"Plan": ` + node + `}]` + "\n(1 row)",
	} {
		tree, err := Parse([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if r := tree.Root; r.Type != "Limit" || r.PlanRows != 3.5 || !r.Disabled || r.SubplansRemoved != 2 || tree.Analyzed {
			t.Errorf("%s: got %+v", name, r)
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, text := range []string{"", "no plan", "[]", "{}", `[{"Plan": {}}]`, `[{"Plan": null}]`} {
		if _, err := Parse([]byte(text)); !errors.Is(err, ErrNoPlan) {
			t.Errorf("%q: got %v, want ErrNoPlan", text, err)
		}
	}
	deep := strings.Repeat(`{"Plan":{"Node Type":"A","Plans":[`, 3000) + strings.Repeat(`]}}`, 3000)
	if _, err := Parse([]byte(deep)); err == nil || !strings.Contains(err.Error(), "deeper") {
		t.Errorf("deep nesting: got %v", err)
	}
	if _, err := Parse([]byte(`[{"Plan": {"Node Type": "Limit", "Plan Rows": "many"}}]`)); err == nil {
		t.Error("a text where a number belongs: no error")
	}
}

func TestInitPlanRefs(t *testing.T) {
	for name, want := range map[string]string{
		"InitPlan 1 (returns $0,$1)": "$0 $1",
		"InitPlan 3":                 "(InitPlan 3)",
		"":                           "",
	} {
		if got := strings.Join(InitPlanRefs(name), " "); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
	if containsRef("(a = $12)", "$1") || !containsRef("(a = $12) AND (b = $1)", "$1") {
		t.Error("$1 is not $12")
	}
}

func FuzzParse(f *testing.F) {
	for _, name := range fixtures(f) {
		text, err := os.ReadFile(filepath.Join("testdata", name+".json"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("QUERY PLAN\n [{\"Plan\": {\"Node Type\": \"Limit\"}} +\n]"))
	f.Fuzz(func(t *testing.T, text []byte) {
		tree, err := Parse(text)
		if err != nil {
			return
		}
		tree.Root.Walk(func(n *Node) bool {
			if n.ExclusiveMS < 0 || n.ExclusiveBlocks < 0 {
				t.Fatalf("negative exclusive figures: %+v", n)
			}
			_, _ = n.Removed()
			_ = n.EstimateFactor()
			_ = n.Outer()
			for _, c := range n.Children {
				if c.Parent != n {
					t.Fatal("a child that does not know its parent")
				}
			}
			return true
		})
	})
}
