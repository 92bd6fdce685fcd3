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

// TestNamesOther: whether a statement is about more tables than one.
func TestNamesOther(t *testing.T) {
	o := &probes.ObjectName{Name: "public.t"}
	for query, want := range map[string]bool{
		"delete from t": false, "update only public.t set a = 1, b = 2": false, "select from t x, t y for update": false,
		"with n as (select id from t for update skip locked) update t set a = 1 from n where n.id = t.id": false,
		"select * from t where a is distinct from b for no key update":                                    false,
		"insert into t values (1) on conflict (id) do update set a = 1":                                   false,
		"select * from t, generate_series(1, 3) for update":                                               false,
		"select from t join u using (id) for update":                                                      true,
		"select from t as x, s.u for update":                                                              true,
		"update t set a = 1 from u where u.id = t.id":                                                     true,
		"delete from t using u where u.id = t.id":                                                         true,
		"with a as (update u set a = 1) update t set a = 1":                                               true,
		"update t set a = (select max(a) from u)":                                                         true,
	} {
		if got := namesOther(statement(query, false), o); got != want {
			t.Errorf("%s: got %v, want %v", query, got, want)
		}
	}
}

// TestOtherRows: two statements come to different rows where their texts say so.
func TestOtherRows(t *testing.T) {
	o := &probes.ObjectName{Name: "public.t", Keys: "id,mail", Whole: "id|mail"}
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"id = 1", "id = 2", true},
		{"id = '1'", "id = (2) and v = 3", true},
		{"id = 'f47ac10b-58cc-4372-a567-0e02b2c3d479'", "id = 'f47ac10b-58cc-4372-a567-0e02b2c3d470'", true},
		{"id = 1", "id = 1", false},
		{"id = 1", "id = '01'", false},
		{"id = 1", "id = 1.0", false},
		{"id = $1", "id = 2", false},
		{"id = 1", "mail = '2'", false},
		{"mail = 'a'", "mail = 'A'", false},
	} {
		a, okA := oneRow("update t set v = 1 where "+tt.a, false, o)
		b, okB := oneRow("delete from t where "+tt.b, false, o)
		if got := a.values != "" && b.values != "" && a.columns == b.columns && a.values != b.values; !okA || !okB || got != tt.want {
			t.Errorf("%s, %s: got %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}
