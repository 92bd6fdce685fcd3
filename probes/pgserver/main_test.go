//go:build unix

package pgserver_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv("PGSERVER_TEST_CHILD"); mode != "" {
		child(mode)
	}
	goleak.VerifyTestMain(m)
}
