package budget

import (
	"testing"
)

func mustParse(t *testing.T, text string) *File {
	t.Helper()
	f, err := Parse("pgsonde.yaml", []byte(text))
	if err != nil {
		t.Fatalf("parsing: %v", err)
	}
	return f
}

func mustLoad(t *testing.T, name string) *File {
	t.Helper()
	f, err := Load("testdata/" + name)
	if err != nil {
		t.Fatalf("loading: %v", err)
	}
	return f
}

func mustPlan(t *testing.T, f *File, args ...string) *Sum {
	t.Helper()
	sc, err := ParseScenario(f, args)
	if err != nil {
		t.Fatalf("scenario %q: %v", args, err)
	}
	s, err := Plan(f, sc)
	if err != nil {
		t.Fatalf("plan %q: %v", args, err)
	}
	return s
}
