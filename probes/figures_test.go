package probes

import "testing"

func TestOutOf(t *testing.T) {
	for _, tt := range []struct {
		n, limit int
		noun     string
		want     string
	}{
		{0, 25, "connections", "0 of 25 connections"},
		{25, 25, "connections", "25 of 25 connections"},
		{27, 25, "connections", "27 connections, 2 over the cap of 25"},
		{27, 25, "", "27, 2 over the cap of 25"},
		{24, 25, "", "24 of 25"},
		{1, 0, "", "1, 1 over the cap of 0"},
	} {
		if got := OutOf(tt.n, tt.limit, tt.noun, "cap"); got != tt.want {
			t.Errorf("%d of %d: got %q, want %q", tt.n, tt.limit, got, tt.want)
		}
	}
}
