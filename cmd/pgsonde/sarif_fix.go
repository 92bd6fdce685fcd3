package main

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pgsonde/pgsonde/explain"
)

// sarifFixes are the changes of the file that a finding offers: the fix of its
// statement for what the plan gave rise to, and for a fault in the text what its
// author meant. A first page of its own, an index and values that are bound
// otherwise are words of the description: no replacement says them.
func sarifFixes(q *judged, f explain.Finding) []sarifFix {
	if q.text == "" {
		return nil
	}
	var out []sarifFix
	if meant, ok := f.Evidence["meant"].(string); ok {
		out = append(out, q.replace(meant, "Write what was meant. The rows of the page change."))
	}
	fromPlan := slices.ContainsFunc(explain.PlanRules(), func(r explain.Rule) bool { return r.Name == f.Rule })
	if x := q.Fix; x != nil && fromPlan && x.SQL != "" && x.SQL != q.SQL {
		out = append(out, q.replace(x.SQL, fixWords(x)))
	}
	return out
}

// fixWords describe a fix: what it does, how far it is proved, and what has to be
// done beside it.
func fixWords(x *explain.Fix) string {
	words := []string{x.Why, "the same rows: " + strings.ReplaceAll(x.Equivalent, "-", " ")}
	for _, a := range x.Assumes {
		words = append(words, "assumed: "+a)
	}
	if x.Bind != nil {
		words = append(words, bindWords(x.Bind))
	}
	if x.First != "" {
		first := "while " + x.When + ", send another statement: " + x.First
		if x.FirstBind != nil {
			first += "; " + bindWords(x.FirstBind)
		}
		words = append(words, first)
	}
	if x.IndexSQL != nil {
		words = append(words, "make the index first: "+*x.IndexSQL)
	}
	return strings.Join(words, "\n")
}

// bindWords say which of the old values a statement takes.
func bindWords(values []int) string {
	if len(values) == 0 {
		return "it takes none of the values"
	}
	return "bind the values that were " + listed(values)
}

// listed writes numbers as 1, 2, 3.
func listed(n []int) string { return strings.Trim(strings.ReplaceAll(fmt.Sprint(n), " ", ", "), "[]") }

// replace is the fix that turns the statement into sql, by the shortest piece of
// whole characters that differs.
func (q *judged) replace(sql, description string) sarifFix {
	old := q.SQL
	start, end := 0, len(old)
	for start < len(old) && start < len(sql) && old[start] == sql[start] {
		start++
	}
	for start > 0 && (start < len(old) && !utf8.RuneStart(old[start]) || start < len(sql) && !utf8.RuneStart(sql[start])) {
		start--
	}
	for end > start && end-len(old)+len(sql) > start && old[end-1] == sql[end-1-len(old)+len(sql)] {
		end--
	}
	for end < len(old) && !utf8.RuneStart(old[end]) {
		end++
	}
	return sarifFix{
		Description: sarifText{description},
		Changes: []sarifChange{{
			Artifact:     sarifArtifact{fileURI(q.file)},
			Replacements: []sarifReplacement{{*sarifRange(q.text, q.at+start, q.at+end), sarifText{sql[start : end-len(old)+len(sql)]}}},
		}},
	}
}

// sarifRange is the region of a text from byte start up to end.
func sarifRange(text string, start, end int) *sarifRegion {
	size := end - start
	r := &sarifRegion{ByteOffset: &start, ByteLength: &size}
	r.StartLine, r.StartColumn = lineColumn(text, start)
	r.EndLine, r.EndColumn = lineColumn(text, end)
	return r
}

// lineColumn is where a byte of a text stands: its line, and its column in UTF-16
// units, both from 1.
func lineColumn(text string, at int) (line, column int) {
	before := text[:at]
	line = 1 + strings.Count(before, "\n")
	column = 1
	for _, c := range before[strings.LastIndexByte(before, '\n')+1:] {
		if column++; c > 0xffff {
			column++
		}
	}
	return line, column
}
