package waits_test

import (
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/probes/waits"
)

// named is the node of a session, by its name in the file; nil when it neither
// waits nor blocks.
func (p *player) named(f *waits.Forest, who string) *waits.Node {
	for _, n := range f.All() {
		if p.label(f, n.Key) == who {
			return n
		}
	}
	return nil
}

// checkWords holds what a person is told against the file.
func (p *player) checkWords(name string, f *waits.Forest, want *expectation) {
	p.t.Helper()
	for who, freed := range want.AtOnce {
		if n := p.named(f, who); n == nil {
			p.t.Errorf("%s: %s is not in the forest", name, who)
		} else if e := f.WhatIf(n.Key); true {
			p.equal(name, "ending "+who+" frees at once", p.labels(f, e.Frees[:e.Direct]), freed)
		}
	}
	for who, with := range want.Together {
		for _, t := range f.Drawn() {
			if p.label(f, t.Root.Key) != who {
				continue
			}
			var keys []waits.Key
			for _, s := range t.Best.With {
				keys = append(keys, s.Key)
			}
			p.equal(name, "to end with "+who, p.labels(f, keys), with)
		}
	}
	for who, words := range want.Objects {
		n := p.named(f, who)
		if n == nil || n.Edge == nil || !strings.Contains(n.Edge.Object, words) {
			p.t.Errorf("%s: what %s waits for: got %+v, want %q", name, who, n, words)
		}
	}
	if want.BestText != "" && (len(f.Trees) == 0 || !strings.Contains(f.Trees[0].Best.Text, want.BestText)) {
		p.t.Errorf("%s: best action does not say %q: %+v", name, want.BestText, f.Trees)
	}
	if want.Cycles != nil {
		var got, all []string
		for _, c := range f.Cycles {
			got = append(got, strings.Join(p.labels(f, c.Members), " "))
		}
		for _, c := range want.Cycles {
			all = append(all, strings.Join(c, " "))
		}
		slices.Sort(got)
		p.equal(name, "cycles", got, all)
	}
	if n, ok := want.Victims["cycle"]; ok {
		got := 0
		for _, c := range f.Cycles {
			if c.Tree != nil {
				got += c.Tree.Victims
			}
		}
		if got != n || got != f.Waiters {
			p.t.Errorf("%s: got %d victims of circles, %d waiters, want %d", name, got, f.Waiters, n)
		}
	}
	for who, best := range want.SafeBest {
		for _, s := range f.SafeSnapshots {
			if got := string(s.Best.Verb) + " " + p.label(f, s.Best.Key); p.label(f, s.Waiter.Key) == who && got != best {
				p.t.Errorf("%s: best for %s: got %q, want %q", name, who, got, best)
			}
		}
	}
}
