package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/cmd/pgsonde/schema"
	"github.com/pgsonde/pgsonde/explain"
	"github.com/pgsonde/pgsonde/probes/pgserver"
)

// startSchema makes the throw-away server of --schema.
func (c *explainCmd) startSchema(a *app, src sources) (*schema.Server, error) {
	if src.dsn != "" {
		return nil, fmt.Errorf("--schema makes a server of its own: no file is called %s, and no other server is asked", redact(src.dsn))
	}
	o := schema.Options{Major: c.PG, Progress: a.err, Tell: func(s string) { a.hint("%s", s) }}
	for _, path := range c.Schema {
		b, err := a.readAll(path)
		if err != nil {
			return nil, err
		}
		o.Files = append(o.Files, schema.File{Name: path, Text: string(b)})
	}
	if c.Stats != "" {
		b, err := a.readAll(c.Stats)
		if err != nil {
			return nil, err
		}
		o.Stats = &schema.File{Name: c.Stats, Text: string(b)}
	}
	for _, text := range c.Rows {
		r, err := schema.ParseRows(text)
		if err != nil {
			return nil, err
		}
		o.Rows = append(o.Rows, r)
	}
	s, err := schema.Start(a.ctx, o)
	if missing := (*pgserver.MissingError)(nil); errors.As(err, &missing) {
		return nil, fmt.Errorf("%w; %s", err, missing.Hint)
	}
	if err != nil {
		return nil, fmt.Errorf("making a server of the schema: %w", err)
	}
	return s, nil
}

// sizes adds to a judgement the tables whose size nobody gave: an empty table's
// plan says little of a large one's.
func (d *explainDoc) sizes(r *explain.Result) {
	var names []string
	for _, s := range r.Scans {
		table, name := s.Node.Schema, s.Node.Relation
		if s.Limited && name != "" && !d.schema.Known(table, name) {
			if s.Table != nil && s.Table.Root != "" {
				name = s.Table.Root
			} else {
				name = table + "." + name
			}
			if name = strings.TrimPrefix(name, "public."); !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	if len(names) == 0 {
		return
	}
	are := "is empty here and its size was"
	if len(names) > 1 {
		are = "are empty here and their sizes were"
	}
	r.Findings = append(r.Findings, explain.Finding{
		Rule: "table-size-not-given", Severity: explain.Warn, Subject: names[0],
		Message: fmt.Sprintf("%s %s not given: such a plan shows that names and types are right and which indexes there are, not how a large table is read",
			strings.Join(names, ", "), are),
		Action:   fmt.Sprintf("say how large it is in production: --rows %s=1M, or --rows 1M for all tables, or --stats FILE", names[0]),
		Evidence: map[string]any{"tables": names},
	})
}

// commandRules are the rules of findings that the command itself makes.
func commandRules() []ruleDoc {
	return []ruleDoc{
		{"file-not-read", "warn", "a file of statements or plans could not be read"},
		{"plan-not-read", "warn", "a file or log entry is no plan in JSON"},
		{"statements-hidden", "warn", "pg_stat_statements has statements whose texts the login may not read"},
		{"table-size-not-given", "warn", "judged on a schema whose table is empty and whose size was not given"},
	}
}
