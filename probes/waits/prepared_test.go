package waits

import (
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/probes"
)

// TestPreparedTransactionsAreNamed by their gid in every text, with what rolls them
// back where there are several.
func TestPreparedTransactionsAreNamed(t *testing.T) {
	l := reading(table(t, "p8 X x8\np9 X x9\np8 S t1\np9 S t1\n3 RX t1 @1"))
	for _, x := range []struct {
		xid uint32
		gid string
	}{{8, "orders-8"}, {9, "orders-9"}} {
		l.Prepared = append(l.Prepared, probes.PreparedXact{XID: x.xid, GID: x.gid, Owner: "app", Database: "shop"})
	}
	f := Build(nil, l, nil)
	const want = `end both (roll back prepared "orders-8" and prepared "orders-9"): frees 1 session; one alone frees nobody; ` +
		`in database shop, as app or superuser: ROLLBACK PREPARED 'orders-8'; ROLLBACK PREPARED 'orders-9'`
	if got := f.Trees[0].Best.Text; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	l.Prepared[1].Database = "werft"
	const other = `ROLLBACK PREPARED 'orders-8'; in database werft, as app or superuser: ROLLBACK PREPARED 'orders-9'`
	if got := Build(nil, l, nil).Trees[0].Best.Text; !strings.HasSuffix(got, other) {
		t.Errorf("got %q, want %q at its end", got, other)
	}
	// 9 neither waits nor blocks
	l = reading(table(t, "p8 X x8\np9 X x9\n3 S x8 @1"))
	l.Prepared = []probes.PreparedXact{{XID: 9, GID: "orders-9"}}
	if got := Build(nil, l, nil).Name(Key{VXID: "9/1"}); got != `prepared "orders-9"` {
		t.Errorf("got %s", got)
	}
}
