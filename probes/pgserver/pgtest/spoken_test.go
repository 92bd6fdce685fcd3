package pgtest

import (
	"slices"
	"testing"
)

func TestSpokenMissing(t *testing.T) {
	var s Spoken
	s.Note("both", true)
	s.Note("both", false)
	s.Note("loud", true)
	s.Note("calm", false)
	want := []string{"loud was never seen to be silent beside it", "calm never spoke in a live test", "none never spoke in a live test"}
	if got := s.Missing([]string{"both", "loud", "calm", "none"}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
