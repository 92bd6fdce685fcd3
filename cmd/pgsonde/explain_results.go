package main

import (
	"bufio"
	"errors"
	"fmt"

	"github.com/pgsonde/pgsonde/explain"
	"github.com/pgsonde/pgsonde/probes"
)

// results takes the judgements one by one, in the order they are printed. Text is
// printed at once, and what was printed is let go: a file may hold tens of thousands
// of statements. JSON and SARIF are one document, written at the end.
type results struct {
	a    *app
	doc  explainDoc
	text *explainText  // nil for a document
	out  *bufio.Writer // of text

	all, done, plain int             // judgements, those with a verdict, and those of no queries
	found            bool            // one has what --fail-on asks for
	used             map[string]bool // names of --param that were some parameter's
}

func (a *app) results() *results {
	r := &results{a: a, doc: explainDoc{Schema: "pgsonde/explain/1", Queries: []*judged{}}, used: map[string]bool{}}
	if a.cli.Format == "text" {
		r.out = bufio.NewWriter(a.out)
		r.text = &explainText{w: r.out, glyphs: treeGlyphs(a.cli.ASCII)}
	}
	return r
}

// add takes one judgement. The error is that of writing the answer.
func (r *results) add(j *judged) error {
	r.all++
	switch {
	case j.NoQuery:
		r.plain++
	case j.Verdict != explain.Unknown:
		r.done++
	}
	for _, f := range j.Findings {
		r.found = r.found || r.a.cli.FailOn != "never" && (f.Severity == explain.Error || f.Severity == explain.Warn && r.a.cli.FailOn == probes.Warn)
	}
	for _, name := range j.Used {
		r.used[name] = true
	}
	if r.text == nil {
		r.doc.Queries = append(r.doc.Queries, j)
		return nil
	}
	r.text.add(j)
	return r.flush()
}

// end writes what comes after the last judgement.
func (r *results) end() error {
	switch {
	case r.all == 0:
		return errors.New("nothing to judge: no statement was found")
	case r.text != nil:
		r.text.end()
		return r.flush()
	case r.a.cli.Format == "sarif":
		return r.a.printJSON(sarifLog(&r.doc))
	}
	return r.a.printJSON(&r.doc)
}

func (r *results) flush() error {
	if err := r.out.Flush(); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

// verdict is the exit status: 2 when nothing at all could be judged, unless it
// is no query.
func (r *results) verdict() error {
	switch {
	case r.plain == r.all:
		return nil
	case r.done == 0 && r.all == 1:
		return errors.New("the statement could not be judged")
	case r.done == 0:
		return fmt.Errorf("none of %s could be judged", plural(r.all, "statement"))
	case r.found:
		return errFound
	}
	return nil
}
