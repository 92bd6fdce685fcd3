package waits

import (
	"fmt"
	"testing"

	"github.com/pgsonde/pgsonde/probes"
)

// TestStopsElsewhere: who gets the table that it waits for is not sure to run where its
// statement may come to another that somebody keeps from it.
func TestStopsElsewhere(t *testing.T) {
	names := []probes.ObjectName{
		{OID: 1, Name: "public.a", Tied: true},
		{OID: 2, Name: "public.b"},
		{OID: 3, Name: "public.b_pkey", Parent: 2},
		{OID: 4, Name: "public.whole", Children: true},
		{OID: 5, Name: "pg_temp_3.b"},
		{OID: 7, Name: "public.a_pkey", Parent: 1},
	}
	for _, tt := range []struct {
		name, rows, query string
		end               int
		want              string
	}{
		{"one table", "1 AX t1\n2 AX t2\n3 AS t1 @1", "select * from a", 1, "1-1"},
		{"a join", "1 AX t1\n2 AX t2\n3 AS t1 @1", "select * from a join b using (id)", 1, "0-1"},
		{"both are the root's", "1 AX t1\n1 AX t2\n3 AS t1 @1", "select * from a join b using (id)", 1, "1-1"},
		{"a lock that does not keep readers off", "1 AX t1\n2 S t2\n3 AS t1 @1", "select * from a join b using (id)", 1, "1-1"},
		{"a request before it", "1 AX t1\n4 AS t2\n2 AX t2 @1\n3 AS t1 @2", "select * from a, b", 1, "0-1"},
		{"an index of another", "1 AX t1\n2 AX t3\n3 AS t1 @1", "select * from a, b", 1, "0-1"},
		{"an index of it", "1 AX t1\n2 AX t7\n3 AS t1 @1", "select * from a", 1, "0-1"},
		{"a view", "1 AX t1\n2 AX t2\n3 AS t1 @1", "select * from v", 1, "0-1"},
		{"a partitioned table", "1 AX t4\n2 AX t2\n3 AS t4 @1", "select * from whole", 1, "0-1"},
		{"a foreign key", "1 S t1\n2 X t2\n3 RX t1 @1", "insert into a values (1)", 1, "0-1"},
		{"a foreign key, read", "1 AX t1\n2 AX t2\n3 AS t1 @1", "select from a", 1, "1-1"},
		{"another's temporary table", "1 AX t1\n2 AX t5\n3 AS t1 @1", "select * from a, b", 1, "1-1"},
		{"one too new to be seen", "1 AX t1\n2 AX t9\n3 AS t1 @1", "select * from a, b", 1, "1-1"},
		{"a DDL about several", "1 AS t1\n3 AX t1 @1", "drop table a, b", 1, "0-1"},
		{"a DDL about several, and it waits for the last", "1 AS t2\n3 AX t2 @1", "drop table a, public.b", 1, "1-1"},
		{"a DDL about one", "1 AS t1\n3 AX t1 @1", "alter table a add x int, add y int", 1, "1-1"},
		{"several advisory keys", "1 X a1\n3 X a1 @1", "select pg_advisory_lock(1), pg_advisory_lock(2)", 1, "0-1"},
		{"one advisory key", "1 X a1\n3 X a1 @1", "select pg_advisory_lock(1)", 1, "1-1"},
		{"a lock of a view", "1 RX t1\n3 S t1 @1", "lock table v in share mode", 1, "0-1"},
		{"a table with foreign keys is dropped", "1 RX t1\n3 AX t1 @1", "drop table a", 1, "0-1"},
		{"a table without is dropped", "1 RX t2\n3 AX t2 @1", "drop table b", 1, "1-1"},
		{"a schema is dropped", "1 RS o1\n3 AX o1 @1", "drop schema s cascade", 1, "0-1"},
		{"a schema is renamed", "1 RS o1\n3 AX o1 @1", "alter schema s rename to z", 1, "1-1"},
		{"a DDL on partitions", "1 AS t4\n3 AX t4 @1", "alter table whole add x int", 1, "0-1"},
	} {
		l := reading(table(t, tt.rows))
		for _, o := range names {
			if o.Database, o.Class, o.OID = 5, classRelation, 20000+o.OID; o.Parent > 0 {
				o.Parent += 20000
			}
			l.Names = append(l.Names, o)
		}
		for i := range l.Rows {
			if l.Rows[i].Tag.Type == "relation" {
				l.Rows[i].Tag.Relation += 20000
			}
		}
		for i := range l.Procs {
			if l.Procs[i].PID == 3 {
				l.Procs[i].Query = tt.query
			}
		}
		e := Build(nil, l, nil).WhatIf(Key{PID: tt.end})
		if got := fmt.Sprintf("%d-%d", e.Direct, e.Most); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}
