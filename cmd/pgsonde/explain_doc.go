package main

import (
	"github.com/pgsonde/pgsonde/cmd/pgsonde/schema"
	"github.com/pgsonde/pgsonde/explain"
)

// explainDoc is the document of explain --format json.
type explainDoc struct {
	Schema  string         `json:"schema"`
	Server  *explainServer `json:"server"`
	Queries []*judged      `json:"queries"`

	schema *schema.Server // the throw-away server, nil for a real one
}

// explainServer is the server of the explain document.
type explainServer struct {
	VersionNum int    `json:"version_num"`
	Database   string `json:"database"`
	User       string `json:"user"`
	InRecovery bool   `json:"in_recovery"`
	ThrowAway  bool   `json:"throw_away"` // made of a schema dump
}

// judged is a judgement with where its statement comes from.
type judged struct {
	*explain.Result
	Name      string             `json:"name,omitempty"`      // of its `-- name:` block
	Statement *explain.Statement `json:"statement,omitempty"` // as pg_stat_statements counts it

	file string // that it is in, as it was named; "" for none
	text string // of the file, "" where it is no file of statements
	at   int    // byte offset of the statement in text
}

// notJudged is the result for a file that gave nothing to send to a server.
func notJudged(source, rule, message, action string) *judged {
	return &judged{file: source, Result: &explain.Result{
		Source: source, Pagination: explain.NoPaging, Verdict: explain.Unknown,
		Sort: []explain.SortJSON{}, Plans: []explain.Case{},
		Findings: []explain.Finding{{Rule: rule, Severity: explain.Warn, Subject: source, Message: message, Action: action, Evidence: map[string]any{}}},
	}}
}
