//go:build unix

package demo

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv("DEMO_TEST_CHILD") != "" {
		child()
	}
	goleak.VerifyTestMain(m)
}
