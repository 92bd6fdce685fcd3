package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The three formats of a server log, with a plan in JSON and one in text each,
// written as PostgreSQL 15 writes them.
func TestLogPlans(t *testing.T) {
	for _, tt := range []struct {
		name, path, text string
		want             []string
		texts            int
	}{
		{
			name: "plain", path: "pg.log", texts: 1, want: []string{"pg.log:2"},
			text: "2025-11-30 12:25:01.107 UTC [19] LOG:  statement: select 'plan:'\n" +
				"2025-11-30 12:25:01.108 UTC [19] LOG:  duration: 0.034 ms  plan:\n\t{\n\t  \"Query Text\": \"select 1\\nfrom t\",\n\t  \"Plan\": {\"Node Type\": \"Result\"}\n\t}\n" +
				"2025-11-30 12:25:01.109 UTC [19] LOG:  duration: 0.003 ms  plan:\n\tQuery Text: select 2\n\tResult  (cost=0.00..0.01 rows=1 width=4)\n",
		},
		{
			name: "csvlog", path: "pg.csv", texts: 1, want: []string{"pg.csv:2"},
			text: `2025-11-30 12:25:01.107 UTC,"postgres","postgres",19,"[local]",692c0,1,"SELECT",2025-11-30 12:25:01 UTC,3/2,0,LOG,00000,"duration: 0.1 ms",,,,,,,,,"psql","client backend",,0` + "\n" +
				`2025-11-30 12:25:01.108 UTC,"postgres","postgres",19,"[local]",692c0,2,"SELECT",2025-11-30 12:25:01 UTC,3/2,0,LOG,00000,"duration: 0.034 ms  plan:` + "\n" +
				`{` + "\n" + `  ""Query Text"": ""select 1"",` + "\n" + `  ""Plan"": {""Node Type"": ""Result""}` + "\n" + `}",,,,,,,,,"psql","client backend",,0` + "\n" +
				`2025-11-30 12:25:01.109 UTC,"postgres","postgres",19,"[local]",692c0,3,"SELECT",2025-11-30 12:25:01 UTC,3/2,0,LOG,00000,"duration: 0.003 ms  plan:` + "\n" +
				`Query Text: select 2",,,,,,,,,"psql","client backend",,0` + "\n",
		},
		{
			name: "jsonlog", path: "pg.json", texts: 1, want: []string{"pg.json:2"},
			text: `{"timestamp":"2025-11-30 12:25:01.107 UTC","pid":19,"error_severity":"LOG","message":"duration: 0.1 ms"}` + "\n" +
				`{"timestamp":"2025-11-30 12:25:01.108 UTC","pid":19,"error_severity":"LOG","message":"duration: 0.034 ms  plan:\n{\n  \"Query Text\": \"select 1\",\n  \"Plan\": {\"Node Type\": \"Result\"}\n}"}` + "\n" +
				`{"timestamp":"2025-11-30 12:25:01.109 UTC","pid":19,"error_severity":"LOG","message":"duration: 0.003 ms  plan:\nQuery Text: select 2"}` + "\n",
		},
		{name: "nothing", path: "pg.log", text: "2025-11-30 12:25:01.107 UTC [19] LOG:  started\n"},
		{name: "torn", path: "pg.log", text: "2025 LOG:  duration: 1 ms  plan:\n\t{\n\t  \"Query Text\": \"sel", texts: 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			plans, texts := logPlans(tt.path, tt.text)
			var got []string
			for _, p := range plans {
				got = append(got, p.source)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || texts != tt.texts {
				t.Errorf("got %d plans in text, want %d; (-want +got):\n%s", texts, tt.texts, diff)
			}
		})
	}
}
