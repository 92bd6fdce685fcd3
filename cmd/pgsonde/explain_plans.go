package main

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/pgsonde/pgsonde/explain"
)

// takenPlan is a plan that someone else took.
type takenPlan struct {
	source string
	json   []byte
	file   string // as in judged
}

// takePlan is what to do about a plan that cannot be read.
const takePlan = "take it with EXPLAIN (FORMAT JSON), or with auto_explain.log_format = json"

// addPlan adds a file with the output of EXPLAIN (FORMAT JSON).
func (s *sources) addPlan(a *app, path string) {
	b, err := a.readAll(path)
	if err != nil {
		s.fail(path, "file-not-read", err)
		return
	}
	if path == "-" {
		s.addTaken(takenPlan{"stdin", b, ""})
		return
	}
	s.addTaken(takenPlan{path, b, path})
}

func (s *sources) addTaken(p takenPlan) { s.items = append(s.items, item{plan: &p}) }

// judgeTaken judges a plan, with the catalog of its server where there is one.
func (a *app) judgeTaken(r *explain.Runner, p takenPlan) *judged {
	var catalog explain.Catalog
	var err error
	if r != nil {
		catalog, err = r.LoadPlan(a.ctx, p.json)
	}
	var res *explain.Result
	if err == nil {
		res, err = explain.JudgePlan(p.source, p.json, catalog)
	}
	if err != nil {
		return notJudged(p.source, "plan-not-read", strings.TrimPrefix(err.Error(), "reading "+p.source+": "), takePlan)
	}
	return &judged{Result: res, file: p.file}
}

// addLog adds the plans of a server log.
func (s *sources) addLog(a *app, path string) {
	b, err := a.readAll(path)
	if err != nil {
		s.fail(path, "file-not-read", err)
		return
	}
	plans, texts := logPlans(path, string(b))
	for _, p := range plans {
		p.file = path
		s.addTaken(p)
	}
	switch {
	case texts > 0:
		s.fail(path, "plan-not-read", fmt.Errorf("%s not in JSON", plural(texts, "plan")))
	case len(plans) == 0:
		s.fail(path, "plan-not-read", errors.New("no plan of auto_explain in the log"))
	}
}

// logPlans finds the plans of auto_explain in a server log of any format: in
// plain text a line that ends with "plan:" and then a JSON object, indented under
// it; in a jsonlog or csvlog the same in one message. It returns those that are
// JSON and counts the others.
func logPlans(path, text string) (plans []takenPlan, texts int) {
	switch start := strings.TrimLeft(text, " \r\n"); {
	case strings.HasPrefix(start, "{"):
		for i, line := range strings.Split(text, "\n") {
			var entry struct{ Message string }
			if json.Unmarshal([]byte(line), &entry) == nil {
				p, n := messagePlans(path, entry.Message, i+1, false)
				plans, texts = append(plans, p...), texts+n
			}
		}
		return plans, texts
	case strings.HasSuffix(path, ".csv"):
		r := csv.NewReader(strings.NewReader(text))
		r.FieldsPerRecord, r.LazyQuotes, r.ReuseRecord = -1, true, true
		for {
			record, err := r.Read()
			if err != nil {
				return plans, texts
			}
			const message = 13 // of the columns of csvlog
			if len(record) > message {
				line, _ := r.FieldPos(message)
				p, n := messagePlans(path, record[message], line, false)
				plans, texts = append(plans, p...), texts+n
			}
		}
	}
	return messagePlans(path, text, 1, true)
}

// messagePlans finds the plans in a text that starts at a line of the file. When
// it runs over several lines of the file, a plan's line is that of its message.
func messagePlans(path, text string, line int, lines bool) (plans []takenPlan, texts int) {
	for {
		i := strings.Index(text, "plan:\n")
		if i < 0 {
			return plans, texts
		}
		at := line
		if lines {
			at += strings.Count(text[:i], "\n")
			line = at + 1
		}
		head := text[strings.LastIndexByte(text[:i], '\n')+1 : i]
		text = text[i+len("plan:\n"):]
		var raw json.RawMessage
		if err := json.NewDecoder(strings.NewReader(text)).Decode(&raw); err == nil {
			plans = append(plans, takenPlan{source: fmt.Sprintf("%s:%d", path, at), json: raw})
		} else if strings.Contains(head, "duration: ") {
			texts++
		}
	}
}
