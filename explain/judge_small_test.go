package explain

import (
	"strings"
	"testing"
)

// Where no scan can start at the cursor, or need not, nothing is an error and nothing
// is advised that cannot be done.
func noIndexCan(t *testing.T, judge judgeFunc) {
	for sql, want := range map[string]struct{ says, not string }{
		"with recursive t(n) as (select 1 union all select n + 1 from t where n < 100) select n from t where n > $1 or n = $1 order by n limit 5":                                                                                {"", "index"},
		"with recursive w(id, d) as (select id, 1 from users where id = 1 union all select u.id, d + 1 from w join users u on u.id = w.id + 1) select id, d from w where d > $1 or (d = $1 and id > $2) order by d, id limit 20": {"", "index"},
		"with recursive w(id, d) as (select id, 1 from issues union all select i.id, d + 1 from w join issues i on i.id = w.id + 1) select id, d from w where d > $1 or (d = $1 and id > $2) order by d, id limit 20":            {"is recursive", "add an index"},
		"select * from (select project_id, sum(score) s from issues group by project_id) x where s > $1 or (s = $1 and project_id > $2) order by s, project_id limit 10":                                                         {"computed of all rows of a group", "add an index"},
		"select * from (select project_id, count(*) n from issues group by project_id) x where n < $1 or (n = $1 and project_id < $2) order by n desc, project_id desc limit 10":                                                 {"computed of all rows of a group", "add an index"},
		"select ctid from issues where ctid > $1 order by ctid limit 10": {"no index can have", "unique"},
		"select id from issues where created_at >= '2024-01-03 00:00Z' and created_at < '2024-01-03 03:00Z' and (created_at > $1 or (created_at = $1 and id > $2)) order by created_at, id limit 20":                    {"they are few", "use the fix"},
		"select id from issues where created_at >= $3 and created_at < '2024-01-03 03:00Z' and (created_at > $1 or (created_at = $1 and id > $2)) order by created_at, id limit 20":                                     {"", "they are few"},
		"select id from issues where created_at >= '2024-01-03 00:00Z' and created_at < '2024-03-03 03:00Z' and (created_at > $1 or (created_at = $1 and id > $2)) order by created_at, id limit 20":                    {"use the fix", "they are few"},
		"with m as materialized (select id, created_at from issues) select id from m where created_at > $1 or (created_at = $1 and id > $2) order by created_at, id limit 20":                                           {"move the cursor", "add an index"},
		"with m as (select id, created_at from issues) select id from m where (created_at > $1 or (created_at = $1 and id > $2)) and exists (select 1 from m x where x.id = m.id + 1) order by created_at, id limit 20": {"write NOT MATERIALIZED", "take MATERIALIZED away"},
	} {
		res := judge(sql, Options{}, nil)
		var text []string
		for _, f := range res.Findings {
			text = append(text, f.Rule+": "+f.Message+": "+f.Action)
		}
		all := strings.Join(text, "\n")
		bad := want.says == "use the fix" || want.not == "they are few" || strings.HasPrefix(sql, "with m")
		if severe(res) != bad || !strings.Contains(all, want.says) || strings.Contains(all, want.not) {
			t.Errorf("%s: %s, %s", sql, res.Verdict, all)
		}
	}
}
