package main

import (
	"context"
	"errors"
	"time"

	"github.com/pgsonde/pgsonde/explain"
	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/tui"
)

// explainer is the EXPLAIN session of the terminal UI. It takes the place of the
// sampler's second connection while it is open, so that there are never three.
type explainer struct {
	loan *probes.Loan
	opts explain.RunnerOptions
	r    *explain.Runner
	read time.Time // of the catalog
}

// catalogAge is how long what the catalog says of tables and indexes is believed.
const catalogAge = 3 * time.Second

// openExplainer borrows the second connection of a live source.
func openExplainer(opts explain.RunnerOptions) func(context.Context, tui.Source) (tui.Explainer, error) {
	return func(ctx context.Context, src tui.Source) (tui.Explainer, error) {
		s, ok := src.(*probes.Sampler)
		if !ok {
			return nil, errors.New("a recording has no server to explain on")
		}
		loan, err := s.Lend(ctx)
		if err != nil {
			return nil, err
		}
		x := &explainer{loan: loan, opts: opts}
		if err := x.connect(ctx); err != nil {
			loan.Return()
			return nil, err
		}
		return x, nil
	}
}

func (x *explainer) connect(ctx context.Context) (err error) {
	x.r, err = explain.OpenConfig(ctx, x.loan.Config, x.opts)
	return err
}

// Statements lists those of pg_stat_statements.
func (x *explainer) Statements(ctx context.Context, limit int) (list explain.Listing, err error) {
	err = x.alive(ctx, func() error {
		list, err = explain.Statements(ctx, x.r, limit)
		return err
	})
	return list, err
}

// Judge judges one statement.
func (x *explainer) Judge(ctx context.Context, in explain.Input, o explain.Options) (res *explain.Result) {
	err := x.alive(ctx, func() error {
		if time.Since(x.read) > catalogAge { // an index may be there that was not
			x.r.Forget()
			x.read = time.Now()
		}
		res = explain.Judge(ctx, x.r, in, o)
		return nil
	})
	if err != nil {
		res = &explain.Result{
			Source: in.Source, SQL: in.SQL, Pagination: explain.NoPaging, Verdict: explain.Unknown,
			Findings: []explain.Finding{{Rule: "statement-not-judged", Severity: explain.Warn, Subject: in.Source, Message: err.Error()}},
		}
	}
	return res
}

// alive runs f, over a new session when the old one turns out to be gone: the
// server was restarted, or somebody ended the session.
func (x *explainer) alive(ctx context.Context, f func() error) error {
	for again := false; ; again = true {
		if x.r.Closed() {
			if err := x.connect(ctx); err != nil {
				return err
			}
		}
		if err := f(); !x.r.Closed() || again || ctx.Err() != nil {
			return err
		}
	}
}

// Close ends the session and gives the place back.
func (x *explainer) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = x.r.Close(ctx)
	x.loan.Return()
}
