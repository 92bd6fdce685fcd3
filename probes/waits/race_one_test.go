package waits_test

import (
	"strings"
	"testing"

	"github.com/pgsonde/pgsonde/probes/pgserver"
	"github.com/pgsonde/pgsonde/probes/pgserver/pgtest"
	"github.com/pgsonde/pgsonde/probes/waits"
)

// TestOneRow: of a row that one has, and one wants, the figure is exact where nobody else may
// have it, too.
func TestOneRow(t *testing.T) {
	if testing.Short() {
		t.Skip("ends sessions of real servers")
	}
	const (
		update, lock, remove = "update r set v = v + 1 where id = 1", "select * from r where id = 1 for update", "delete from r where id = 1"
		other, locked        = "update r set v = v + 1 where id = 101", "select * from r where id = 102 for update"
		child                = "insert into kid values (103)"
		all, second          = "update r set v = v + 1 where id < 4", "update r set v = v + 1 where id = 2"
	)
	tests := []struct {
		has    []string
		others [][]string
		want   string
		direct int
		most   int // 0: 1
	}{
		{[]string{update}, nil, update, 1, 0},
		{[]string{update}, [][]string{{other}, {locked}, {child}}, update, 1, 0},
		{[]string{update}, [][]string{{other}}, remove, 1, 0},
		{[]string{update}, [][]string{{child}}, remove, 0, 0},
		{[]string{lock}, nil, lock, 1, 0},
		{[]string{lock, update}, nil, lock, 1, 0},
		{[]string{lock, update}, nil, update, 1, 0},
		{[]string{lock, update}, [][]string{{other}}, update, 1, 0},
		{[]string{lock, update}, [][]string{{lock}, {lock}}, lock, 1, 0}, // its queue
		{[]string{lock, update}, [][]string{{locked}}, update, 0, 0},
		{[]string{lock, update}, [][]string{{other}}, lock, 0, 0},
		{[]string{update}, [][]string{{other}, {locked}}, "update public.r set v = v + 1 where id = 1", 1, 0},
		{[]string{update}, [][]string{{other}, {locked}}, `update "r" as "x" set "v" = 1 where ("x"."id" = 1)`, 1, 0},
		{[]string{update}, [][]string{{other}, {locked}}, "update only r x set v = case when v > 1 then 2 else 3 end where v >= 0 and x.id = $1", 1, 0},
		{[]string{update}, [][]string{{other}}, "select v from r where $1 = id and (v = 0 or v > 0) limit 1 for update of r", 1, 0},
		{[]string{update}, [][]string{{other}}, "delete from public.r where v < 10 and r.id = '1'::int returning v", 1, 0},
		{[]string{lock}, [][]string{{other}}, "insert into kid values (1)", 1, 0},

		{[]string{update}, nil, "update r set v = v + 1", 1, 0},
		{[]string{update}, [][]string{{other}}, "update r set v = v + 1", 0, 0},
		{[]string{update}, [][]string{{locked}}, "select * from r for no key update", 0, 0},
		{[]string{update}, [][]string{{other}}, "update r set v = v + 1 where id in (1, 101)", 0, 0},
		{[]string{update}, [][]string{{other}}, "update r set v = v + 1 where v = 0 and (id = 1 or id = 101)", 0, 0},
		{[]string{update}, [][]string{{other}}, "delete from r where id <= 101", 0, 0},
		{[]string{update}, [][]string{{other}}, "update r set id = 50 where id = 1", 0, 0},
		{[]string{update}, [][]string{{other}}, "update r set v = 0 where id = 1; update r set v = 0 where id = 101", 0, 0},
		{[]string{update}, [][]string{{other}}, "do 'begin update r set v = 0; end'", 0, 0},
		{[]string{update}, [][]string{{"select 1 from r"}, {"lock table r in access share mode"}}, "update r set v = v + 1", 1, 0},
		{[]string{all}, [][]string{{second}}, update, 2, 2},
		{[]string{all}, [][]string{{"update r set v = v + 1 where id > 1"}}, update, 0, 2},
		{[]string{"commit", "begin; " + all}, [][]string{{"commit", "update r set v = v + 1 where id > 1"}}, "commit; " + update, 1, 2},

		{[]string{"insert into two values (1, 1)"}, nil, "insert into two values (1, 2)", 1, 0},
		{[]string{"insert into two values (1, 1)"}, [][]string{{"insert into two values (9, 9)"}}, "insert into two values (1, 9)", 0, 0},
		{[]string{"insert into two values (1, 1)"}, [][]string{{"insert into two values (9, 9)"}}, "insert into two values (1, 9) on conflict do nothing", 0, 0},
		{[]string{"insert into u values (1)"}, [][]string{{"insert into u values (9)"}}, "insert into u values (1)", 1, 0},
		{[]string{"insert into u values (1)"}, [][]string{{"insert into u values (9)"}}, "insert into u values ($1::int) on conflict (id) do nothing", 1, 0},
		{[]string{"insert into u values (1)"}, [][]string{{"insert into u values (9)"}}, "insert into u values (1), (9)", 0, 0},
		{[]string{"insert into u values (1)"}, [][]string{{"insert into u values (9)"}}, "insert into u select 1", 0, 0},
		{[]string{remove}, [][]string{{"insert into r values (1, 1)"}}, update, 1, 2},
	}
	pgtest.Each(t, func(t *testing.T, in pgserver.Install) {
		r := newRaces(t, in, 1)
		for _, tt := range tests {
			sessions := r.open(len(tt.others) + 2)
			for _, sql := range tt.has {
				r.do(sessions, sessions[0], sql)
			}
			want, auto := strings.CutPrefix(tt.want, "commit; ")
			if auto {
				r.do(sessions, sessions[1], "commit")
			}
			r.do(sessions, sessions[1], want)
			for i, steps := range tt.others {
				for _, sql := range steps {
					r.do(sessions, sessions[2+i], sql)
				}
			}
			e := r.whole().WhatIf(waits.Key{PID: int(sessions[0].pg.PID())})
			if e.Direct != tt.direct || e.Most != max(tt.most, 1) {
				t.Errorf("%s: got %d to %d at once, want %d to %d", texts(sessions), e.Direct, e.Most, tt.direct, max(tt.most, 1))
			}
			r.close(sessions)
		}
	})
}
