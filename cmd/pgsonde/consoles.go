package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/pgsonde/pgsonde/probes"
	"github.com/pgsonde/pgsonde/probes/bouncer"
	"github.com/pgsonde/pgsonde/probes/budget"
)

const (
	undeclaredPooler = "pgbouncer" // the name of consoles that no file puts a name to
	advisoryTimeout  = 2 * time.Second
)

// consoles opens the fleet of --pooler and of the file's poolers; nil when there
// is none. ask is nil where no password can be asked for.
func (a *app) consoles(file *budget.File, ask func(string) (string, error)) (*bouncer.Fleet, error) {
	for _, flag := range a.cli.Pooler {
		_, dsn := poolerFlag(file, flag)
		a.warnOfPassword(dsn)
	}
	all, err := declaredPoolers(file, a.cli.Pooler)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return a.fleet(all, ask)
}

// fleet opens consoles; ask is nil where no password can be asked for.
func (a *app) fleet(all []bouncer.Declared, ask func(string) (string, error)) (*bouncer.Fleet, error) {
	if ask != nil {
		var one sync.Mutex // consoles are read side by side, a person answers one by one
		inner := ask
		ask = func(prompt string) (string, error) {
			one.Lock()
			defer one.Unlock()
			return inner(prompt)
		}
	}
	for i := range all {
		for k := range all[i].Consoles {
			all[i].Consoles[k].Timeout, all[i].Consoles[k].Password = a.cli.Timeout, ask
		}
	}
	return bouncer.NewFleet(all)
}

// declaredPoolers pairs poolers with consoles. One of --pooler is NAME=DSN for a
// pooler of the file, else it is an instance of the file's only pooler, else of
// a pooler that no file declares. It goes before the file's own consoles.
func declaredPoolers(file *budget.File, flags []string) ([]bouncer.Declared, error) {
	given := map[string][]bouncer.Options{}
	for _, flag := range flags {
		name, dsn := poolerFlag(file, flag)
		if m := namedConsole.FindStringSubmatch(dsn); m != nil {
			return nil, fmt.Errorf("--pooler %s=…: the budget file has no pooler of that name", m[1])
		}
		if !isDSN(dsn) {
			return nil, fmt.Errorf("--pooler %s: a console is host=… port=6432 user=… or postgres://USER@HOST:6432/pgbouncer", redact(dsn))
		}
		given[name] = append(given[name], bouncer.Options{DSN: dsn})
	}
	var out []bouncer.Declared
	if file != nil {
		specs := poolerSpecs(file)
		for i, p := range file.Poolers {
			consoles := given[p.Name]
			delete(given, p.Name)
			if consoles == nil {
				for _, dsn := range p.Consoles {
					consoles = append(consoles, bouncer.Options{DSN: dsn})
				}
			}
			if consoles != nil {
				out = append(out, bouncer.Declared{Spec: specs[i], Consoles: consoles})
			}
		}
	}
	if consoles := given[undeclaredPooler]; consoles != nil {
		out = append(out, bouncer.Declared{Spec: bouncer.PoolerSpec{Name: undeclaredPooler}, Consoles: consoles})
	}
	return out, nil
}

// namedConsole is NAME=DSN.
var namedConsole = regexp.MustCompile(`^([^=\s]+)=(?:postgres(?:ql)?://|(?:host|hostaddr|port|user|dbname|service|sslmode)=)`)

// poolerFlag takes one of --pooler apart.
func poolerFlag(file *budget.File, flag string) (name, dsn string) {
	if before, after, ok := strings.Cut(flag, "="); ok && file.Pooler(before) != nil {
		return before, after
	}
	if file != nil && len(file.Poolers) == 1 {
		return file.Poolers[0].Name, flag
	}
	return undeclaredPooler, flag
}

// poolerSpecs is what the file declares of its poolers, in its order.
func poolerSpecs(file *budget.File) []bouncer.PoolerSpec {
	var out []bouncer.PoolerSpec
	sum, err := budget.WhatIf(file, probes.Limits{}, nil, nil)
	for i, p := range file.Poolers {
		spec := bouncer.PoolerSpec{
			Name: p.Name, Mode: p.Mode, Instances: p.Instances, MaxClientConn: p.MaxClientConn, MaxDBConnections: p.MaxDBConnections,
		}
		if err == nil { // the base always adds up
			spec.ClientCap = sum.Poolers[i].Clients
		}
		for _, q := range p.Pools {
			spec.Pools = append(spec.Pools, bouncer.PoolSpec{Database: q.Database, User: q.User, Size: q.Size, Reserve: q.Reserve})
		}
		for _, r := range file.Roles {
			if listen, advisory := r.NeedsSession(); r.Via == p.Name && r.Runs != budget.RunsOff && (listen || advisory) {
				spec.Needs = append(spec.Needs, bouncer.SessionNeed{Role: r.Name, Listen: listen, Advisory: advisory})
			}
		}
		out = append(out, spec)
	}
	return out
}

// scene is what the poolers are judged against: the server behind them, as far
// as it is there.
type scene struct {
	snap     *probes.Snapshot
	err      error // why there is none
	advisory []bouncer.AdvisoryLock
	notes    []string
}

// judgePoolers judges every pooler, and all of them together.
func judgePoolers(file *budget.File, told []bouncer.Told, s scene) ([]*bouncer.View, []probes.Finding) {
	var views []*bouncer.View
	for _, t := range told {
		views = append(views, bouncer.Judge(bouncer.Input{
			Instances: t.Instances, Snapshot: s.snap, ServerErr: s.err, Spec: t.Spec, Advisory: s.advisory, RoleOf: file.ClientRole,
		}))
	}
	return views, bouncer.Together(views)
}

// withoutServer is a scene without the server: why is a note, and evidence of what
// the poolers run into.
func withoutServer(err error) scene {
	return scene{err: err, notes: []string{"without the server behind the poolers: " + withHint(err).Error()}}
}

// asPoolers is what the consoles said, for the budget; now is our clock when the
// snapshot was read.
func asPoolers(told []bouncer.Told, now time.Time) []probes.Pooler {
	var out []probes.Pooler
	for _, t := range told {
		out = append(out, t.Pooler(now))
	}
	return out
}

// notRead says in a line each which consoles could not be read.
func notRead(told []bouncer.Told) []string {
	var out []string
	for _, t := range told {
		for _, in := range t.Instances {
			if in.Err != nil {
				out = append(out, fmt.Sprintf("pooler %s: its console was not read, so that sessions past it are not told apart: %s", t.Spec.Name, withHint(in.Err)))
			}
		}
	}
	return out
}

// look reads the server behind the poolers, when there is one.
func look(ctx context.Context, s *probes.Sampler) scene {
	if s == nil {
		return scene{}
	}
	snap, err := s.Tick(ctx, probes.Want{Sessions: true, Limit: 5000, Locks: true})
	if err != nil {
		return withoutServer(err)
	}
	out := scene{snap: snap}
	for _, n := range snap.Notes {
		out.notes = append(out.notes, n.Text)
	}
	rows, err := s.Work(ctx, advisoryTimeout, bouncer.AdvisoryStatement)
	switch {
	case err == nil:
		out.advisory = bouncer.AdvisoryLocks(rows)
	case !errors.Is(err, probes.ErrNoConnection):
		out.notes = append(out.notes, "session advisory locks were not read: "+err.Error())
	}
	return out
}
