package pgtest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseMajors(t *testing.T) {
	tests := []struct {
		value   string
		want    []int
		wantErr bool
	}{
		{"", nil, false},
		{"all", []int{14, 15, 16, 17, 18}, false},
		{"14, 16", []int{14, 16}, false},
		{"9", nil, true},
		{"newest", nil, true},
		{"14,", nil, true},
	}
	for _, tt := range tests {
		t.Run(tt.value, func(t *testing.T) {
			got, err := parseMajors(tt.value)
			if (err != nil) != tt.wantErr {
				t.Fatalf("got error %v, want one: %v", err, tt.wantErr)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
