package budget

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// besideIn reads files of a folder, as the command does.
func besideIn(dir string) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, path)) }
}

// TestInitByHand: the drafts of expected.tsv have the figures that the head of
// each file works out by hand, and say their guesses.
func TestInitByHand(t *testing.T) {
	data, err := os.ReadFile("testdata/deploy/expected.tsv")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimRight(line, "\n"); line == "" || line[0] == '#' {
			continue
		}
		rows++
		cols := strings.Split(line, "\t")
		t.Run(cols[0], func(t *testing.T) {
			text := draftOf(t, cols[0])
			f, err := Parse("draft.yaml", []byte(text))
			if err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			s := mustPlan(t, f)
			got := []string{cols[0], fmt.Sprint(s.Usable), fmt.Sprint(s.Kept), fmt.Sprint(s.Steady), fmt.Sprint(s.Jobs), fmt.Sprint(s.Manual), rolesOf(s), poolersOf(s)}
			if g, w := strings.Join(got, " · "), strings.Join(cols[:len(got)], " · "); g != w {
				t.Errorf("got  %s\nwant %s", g, w)
			}
			for want := range strings.SplitSeq(cols[8], " | ") {
				if !strings.Contains(text, want) {
					t.Errorf("no %q", want)
				}
			}
			for _, no := range []string{"secret", "pw@"} {
				if strings.Contains(text, no) {
					t.Errorf("%q is in it", no)
				}
			}
			if t.Failed() {
				t.Log(text)
			}
		})
	}
	if rows != 15 {
		t.Errorf("%d rows, want 15", rows)
	}
}

func draftOf(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata/deploy", file))
	if err != nil {
		t.Fatal(err)
	}
	text, err := InitFromFile(file, data, besideIn("testdata/deploy"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func rolesOf(s *Sum) string {
	var out []string
	for _, r := range s.Roles {
		if r.Runs == RunsOff {
			out = append(out, r.Role+" off")
			continue
		}
		out = append(out, fmt.Sprint(r.Role, " ", r.Cap))
	}
	return strings.Join(out, ", ")
}

func poolersOf(s *Sum) string {
	var out []string
	for _, p := range s.Poolers {
		out = append(out, fmt.Sprintf("%s %d, %d of %d", p.Pooler, p.Cap, p.Clients, p.MaxClients))
	}
	return strings.Join(out, ", ")
}
