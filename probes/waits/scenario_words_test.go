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
	text := p.fill(want.BestText)
	if text != "" && !says(f, text) {
		p.t.Errorf("%s: best action does not say %q: %+v", name, text, f.Drawn())
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
	for who, victims := range want.Victims {
		for _, t := range f.Trees {
			if p.label(f, t.Root.Key) == who && t.Victims != victims {
				p.t.Errorf("%s: victims of %s: got %d, want %d", name, who, t.Victims, victims)
			}
		}
	}
	p.checkPromises(name, f, want)
	for who, best := range want.SafeBest {
		for _, s := range f.SafeSnapshots {
			if got := string(s.Best.Verb) + " " + p.label(f, s.Best.Key); p.label(f, s.Waiter.Key) == who && got != best {
				p.t.Errorf("%s: best for %s: got %q, want %q", name, who, got, best)
			}
		}
	}
}

func says(f *waits.Forest, text string) bool {
	return len(f.Trees) > 0 && strings.Contains(f.Trees[0].Best.Text, text)
}

// checkPromises holds what is promised of an end, and what is counted, against the
// file.
func (p *player) checkPromises(name string, f *waits.Forest, want *expectation) {
	p.t.Helper()
	for who, n := range want.AtOnceN {
		most := n
		if m, ok := want.AtOnceMost[who]; ok {
			most = m
		}
		x := p.named(f, who)
		if x == nil {
			p.t.Errorf("%s: %s is not in the forest", name, who)
		} else if e := f.WhatIf(x.Key); e.Direct != n || e.Most != most && most >= 0 {
			p.t.Errorf("%s: ending %s: got %d to %d to run at once, want %d to %d", name, who, e.Direct, e.Most, n, most)
		}
	}
	for who, most := range want.AtMost {
		if x := p.named(f, who); x == nil || f.Advise(x).AtMost != most {
			p.t.Errorf("%s: cancelling %s: got %+v, want at most %v", name, who, x, most)
		}
	}
	for who, delayers := range want.Delayed {
		if x := p.named(f, who); x == nil {
			p.t.Errorf("%s: %s is not in the forest", name, who)
		} else {
			p.equal(name, who+" waits for", p.labels(f, f.Delayers(x.Key)), delayers)
		}
	}
	for who, all := range want.EndAll {
		var keys []waits.Key
		for _, a := range all {
			keys = append(keys, waits.Key{PID: p.session(a).pid})
			if e := f.WhatIf(waits.Key{PID: p.session(a).pid}); len(e.Frees) > 0 && len(all) > 1 {
				p.t.Errorf("%s: ending %s alone frees %v", name, a, p.labels(f, e.Frees))
			}
		}
		if e := f.WhatIfAll(keys...); !slices.Contains(p.labels(f, e.Frees[:e.Direct]), who) {
			p.t.Errorf("%s: ending %v does not free %s: %+v", name, all, who, e)
		}
		for _, a := range all {
			if p.session(who).finished() {
				p.t.Errorf("%s: %s ran before %s ended", name, who, a)
			}
			p.terminate(a)
		}
		p.done(who)
	}
	if want.Waiting != nil && f.Waiting() != *want.Waiting {
		p.t.Errorf("%s: got %d waiting, want %d", name, f.Waiting(), *want.Waiting)
	}
	for who, role := range want.Roles {
		if n := p.named(f, who); n == nil || n.Role != role || n.Session == nil {
			p.t.Errorf("%s: got %+v, want %s of role %q", name, n, who, role)
		}
	}
}
