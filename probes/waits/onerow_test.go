package waits

import (
	"testing"

	"github.com/pgsonde/pgsonde/probes"
)

// TestOne: a statement comes to one row where it names one table and fixes a whole unique
// key of it.
func TestOne(t *testing.T) {
	o := &probes.ObjectName{Name: `public."Order"`, Keys: `id,"No",line,mail`, Whole: `id|"No",line`}
	for query, want := range map[string]bool{
		`UPDATE "Order" SET v = 1 WHERE id = 1`:                                                 true,
		`update public."Order" as o set v = f(v, 2), w = (1) where (o.id = $1) and (o.v <> 3);`: true,
		`begin; update "Order" set v = 1 where id = '7'::bigint -- by key`:                      true,
		`update "Order" set v = 1 where "No" = 1 and line = -2 returning *`:                     true,
		`/* app */ delete from only "Order" where 1 = id`:                                       true,
		`select v, count from "Order" o where id = 1 order by v limit 1 for no key update of o`: true,
		`update "Order" set (v, w) = (1, 2) where id = 1`:                                       true,
		`update "Order" set v = '; where id = 2' where id = 1 and w = ' or '`:                   true,

		`update "Order" set v = 1`:                                                  false,
		`update "Order" set v = 1 where "No" = 1`:                                   false,
		`update "Order" set v = 1 where no = 1 and line = 2`:                        false,
		`update order set v = 1 where id = 1`:                                       false,
		`update archive."Order" set v = 1 where id = 1`:                             false,
		`update "Order" set v = 1 where id = 1 or id = 2`:                           false,
		`update "Order" set v = 1 where id in (1)`:                                  false,
		`update "Order" set v = 1 where id >= 1`:                                    false,
		`update "Order" set v = 1 where not id = 1`:                                 false,
		`update "Order" set v = 1 where (id = 1) is false`:                          false,
		`update "Order" set v = 1 where id = 1 = false`:                             false,
		`update "Order" set v = 1 where id = any ($1)`:                              false,
		`update "Order" set v = 1 where id = id`:                                    false,
		`update "Order" set v = 1 where id = w + 1`:                                 false,
		`update "Order" set v = 1 where id = $1 + w`:                                false,
		`update "Order" set v = 1 where v between 1 and id = 1`:                     false,
		`update "Order" set v = 1 where case when true and id = 1 and w then 1 end`: false,
		`update "Order" set v = 1 from x where id = 1`:                              false,
		`update "Order" o set v = 1 where x.id = 1`:                                 false,
		`update "Order" set id = 2 where id = 1`:                                    false,
		`update "Order" set (v, "No") = (1, 2) where id = 1`:                        false,
		`update "Order" set v = (select 1) where id = 1`:                            false,
		`delete from "Order" using x where id = 1`:                                  false,
		`select * from "Order", x where id = 1 for update`:                          false,
		`select * from "Order" join x on true where id = 1 for update`:              false,
		`select * from "Order" where id = 1`:                                        false,
		`with a as (delete from "Order" where id = 1) update "Order" set v = 1`:     false,
		`update "Order" set v = 1 where id = 1; update "Order" set v = 1`:           false,
		`update "Order" set v = 1 where id = 1 /* cut`:                              false,
		`update "Order" set v = 'a where id = 1`:                                    false,
		`update "Order" set v = E'\\' where id = 2 or w = ' where id = 1`:           false,
		`update "Order" set v = $$ where id = 1 $$`:                                 false,
		`select f(1)`:              false,
		`execute p(1)`:             false,
		`<insufficient privilege>`: false,
		``:                         false,
	} {
		if got := one(query, false, o); got != want {
			t.Errorf("%s: got %v, want %v", query, got, want)
		}
	}
	const plain = `update "Order" set v = 1 where id = 1`
	for _, none := range []*probes.ObjectName{nil, {Name: o.Name}, {Name: o.Name, Keys: "id,*", Whole: "id"}, {Name: o.Name, Whole: "id", Triggers: true}} {
		if one(plain, false, none) {
			t.Errorf("%+v: got one row", none)
		}
	}
	if one(plain, true, o) {
		t.Error("one row of a text that is cut")
	}
}
