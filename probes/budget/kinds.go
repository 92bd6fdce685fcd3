package budget

import (
	"fmt"
	"math"
	"slices"
)

// none is a parameter without a default: the file must give it, or the kind
// works it out from the others.
const none = -1

// param is one size a pool kind takes.
type param struct {
	name string
	also []string // the stack's own names for it
	def  int      // none when there is no default
	lo   int      // the least that makes sense
	flag bool     // on/off instead of a number
	// unlimited: what is below lo means "no limit" to the stack.
	unlimited bool
}

// sizer looks up a parameter: given, else default, else none.
type sizer func(name string) int

// kind is how one stack's pool grows. kept is what one process keeps open when
// it is warm, cap the most it opens.
type kind struct {
	name   string
	also   []string
	params []param
	// size works out kept and cap of one process. The error says which number
	// is missing.
	size func(p sizer) (kept, cap int, err error)
	// idleS and lifeS are the ages in seconds at which the pool closes an idle
	// and any connection by default; 0: not known, or it keeps none idle.
	idleS, lifeS int
}

func num(name string, def, lo int, also ...string) param {
	return param{name: name, def: def, lo: lo, also: also}
}

func flag(name string, def int) param { return param{name: name, def: def, flag: true} }

func endless(p param) param {
	p.unlimited = true
	return p
}

// findKind is the kind of that name.
func findKind(name string) (kind, bool) {
	for _, k := range kinds() {
		if k.name == name || slices.Contains(k.also, name) {
			return k, true
		}
	}
	return kind{}, false
}

func kindNames() []string {
	var out []string
	for _, k := range kinds() {
		out = append(append(out, k.name), k.also...)
	}
	return out
}

// param is the parameter of that name.
func (k kind) param(name string) (param, bool) {
	for _, p := range k.params {
		if p.name == name || slices.Contains(p.also, name) {
			return p, true
		}
	}
	return param{}, false
}

func (k kind) paramNames() []string {
	var out []string
	for _, p := range k.params {
		out = append(append(out, p.name), p.also...)
	}
	return out
}

// firstNames are the names of the parameters without the stacks' own words.
func (k kind) firstNames() []string {
	var out []string
	for _, p := range k.params {
		out = append(out, p.name)
	}
	return out
}

// idleParams are given parameters that have no effect beside the others, one
// line each.
func (k kind) idleParams(given map[string]int) []string {
	var out []string
	idle := func(name, why string) {
		if _, ok := given[name]; ok {
			out = append(out, fmt.Sprintf("%s has no effect %s", name, why))
		}
	}
	_, hasMax := given["max"]
	_, hasLimit := given["connection_limit"]
	switch {
	case k.name == "sqlalchemy" && given["null_pool"] == 1:
		idle("pool_size", "with null_pool, which has no pool")
		idle("max_overflow", "with null_pool, which has no pool")
	case k.name == "sqlalchemy":
		idle("threads", "without null_pool: the pool bounds what is open")
	case k.name == "deadpool":
		idle("min", "on deadpool, which keeps all it opens")
	case k.name == "odoo" && given["workers"] == 0:
		idle("cron", "without workers: one process serves all")
		idle("gevent", "without workers: one process serves all")
	}
	if hasMax || hasLimit {
		idle("cpus", "beside the size that it would give")
	}
	return out
}

// parse reads the value of parameter p of this kind.
func (k kind) parse(p param, what, text string) (int, error) {
	if v, ok := truth(text); ok && p.flag {
		if v {
			return 1, nil
		}
		return 0, nil
	}
	if p.flag {
		return 0, fmt.Errorf("%s is %q; it must be on or off", what, text)
	}
	lo := p.lo
	if p.unlimited {
		lo = math.MinInt
	}
	v, err := wholeNumber(text, what, lo, maxSize)
	if err == nil && v < p.lo {
		err = fmt.Errorf("%s %d is unlimited in %s, which no budget can hold; give a number", what, v, k.name)
	}
	return v, err
}

// sizes works out kept and cap of one process from the given parameters (by
// their first names).
func (k kind) sizes(given map[string]int) (kept, limit int, err error) {
	kept, limit, err = k.size(func(name string) int {
		if v, ok := given[name]; ok {
			return v
		}
		p, _ := k.param(name)
		return p.def
	})
	return min(kept, limit), limit, err
}

// minMax is a pool that keeps lo and grows to hi.
func minMax(lo, hi int, params ...param) kind {
	return kind{
		params: append([]param{
			num("min", lo, 0, "min_size", "min_conns", "minimum_idle", "min_idle", "min_pool_size", "min_connections"),
			num("max", hi, 1, "max_size", "max_conns", "maximum_pool_size", "max_pool_size", "pool_size", "max_connections"),
		}, params...),
		size: func(p sizer) (int, int, error) {
			if p("max") < p("min") {
				return 0, 0, errMinMax(p("min"), p("max"))
			}
			return p("min"), p("max"), nil
		},
	}
}

func errMinMax(lo, hi int) error { return fmt.Errorf("min %d is more than max %d", lo, hi) }

// minDefaultsToMax is a pool that is filled to max unless min says less.
func minDefaultsToMax(hi int) kind {
	k := minMax(none, hi)
	k.size = func(p sizer) (int, int, error) {
		lo, hi := p("min"), p("max")
		switch {
		case lo == none:
			lo = hi
		case lo > hi:
			return 0, 0, errMinMax(lo, hi)
		}
		return lo, hi, nil
	}
	return k
}

// named gives a kind its names and lifetimes.
func (k kind) named(idleS, lifeS int, name string, also ...string) kind {
	k.name, k.also, k.idleS, k.lifeS = name, also, idleS, lifeS
	return k
}
