//go:build unix

package demo

import (
	"context"
	"testing"
	"time"

	"github.com/pgsonde/pgsonde/probes/pgserver"
)

func TestZZ2(t *testing.T) {
	ctx := context.Background()
	in, _ := pgserver.Find(ctx)
	for _, o := range []pgserver.Options{{}, {Base: "/dev/shm"}, {TCP: true}, {Base: "/dev/shm", TCP: true}, {Settings: map[string]string{"shared_buffers": "128MB"}}, {Settings: map[string]string{"shared_preload_libraries": "pg_stat_statements"}}} {
		t0 := time.Now()
		s, err := pgserver.Start(ctx, in, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(o, time.Since(t0).Round(time.Millisecond))
		t0 = time.Now()
		s.Stop()
		t.Log("stop", time.Since(t0).Round(time.Millisecond))
	}
}
