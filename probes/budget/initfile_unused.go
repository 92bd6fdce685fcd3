package budget

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// sizeKey ends the names of variables that size a program or its pool.
var sizeKey = regexp.MustCompile(`(?:^|_)(?:POOL_?SIZE|MAX_?POOL_?SIZE|MAXIMUMPOOLSIZE|MAX_CLIENT_CONN|MAX_CONN(?:ECTION)?S?|CONCURRENCY|WORKERS|PROCESSES|THREADS|MAX_CHILDREN)$`)

// poolerKey is a variable of a pooler's image.
var poolerKey = regexp.MustCompile(`^(?:.*_)?(?:PGBOUNCER|PGCAT|ODYSSEY)_`)

// urlSizeKey is a parameter of a URL that sizes a pool.
var urlSizeKey = regexp.MustCompile(`(?i)pool|overflow|conn\w*limit|max_?conn|^max$`)

// noSizeKey is one that gives a time or a name.
var noSizeKey = regexp.MustCompile(`(?i)time|recycle|ping|idle|life|mode|name|bouncer`)

// unused lists what sizes a pool or names a database and is in no role, each
// with the reason.
func (d *draft) unused(ws []deployed, used map[string]bool) {
	for _, w := range ws {
		if w.usesDatabase() {
			used[w.urlKey()] = true
		}
	}
	why := map[string]string{}
	for _, w := range ws {
		p := w.pool()
		counts := ""
		for _, k := range p.keys {
			if k != "" && counts == "" {
				counts = k
			}
		}
		w.unusedKeys(used, counts, why)
		if w.usesDatabase() && w.flagged(threadsFlag) > 0 && !slices.ContainsFunc(p.sizes, func(s size) bool { return s.key == "threads" }) {
			why["--threads of "+w.name] = "as they share a pool"
		}
	}
	for _, k := range slices.Sorted(maps.Keys(why)) {
		d.left = append(d.left, "Not used: "+k+", "+why[k])
	}
}

// unusedKeys finds them in one environment; counts is the variable that sizes its
// pool.
func (w deployed) unusedKeys(used map[string]bool, counts string, why map[string]string) {
	urls := w.urlKeys()
	for k := range w.env {
		_, pool, ok := poolPrefix(k)
		sized := ok && pool || sizeKey.MatchString(k) && !isServerKey(k) && (poolerKey.MatchString(k) || !otherPools.MatchString(k))
		switch {
		case used[k]:
		case slices.Contains(urls, k) && w.usesDatabase():
			why[k] = "another database than that of " + urls[0]
		case sized && (ok && pool || w.usesDatabase() || poolerKey.MatchString(k)):
			why[k] = w.unusedWhy(k, settingOf(k, w.env[k], w.vars), counts)
		}
	}
	u := w.databaseURL()
	if u == nil {
		return
	}
	for name := range u.Query() {
		s := w.urlSize(name)
		if urlSizeKey.MatchString(name) && !noSizeKey.MatchString(name) && !used[s.key] && plainASCII(name) {
			why[s.key] = w.unusedWhy(s.key, s, counts)
		}
	}
}

func (w deployed) unusedWhy(key string, s setting, counts string) string {
	_, variable, ok := strings.Cut(key, " of ") // a size of a URL
	if !ok {
		variable = key
	}
	prefix, _, _ := poolPrefix(variable)
	switch {
	case poolerKey.MatchString(key):
		return "which is of a pooler; put it under poolers"
	case !s.number():
		return "which " + s.bad
	case counts != "" && !strings.Contains(key, "CONCURRENCY") && (prefix == "" || w.owns(key)):
		return "as " + counts + " counts"
	case prefix != "":
		return "which is of no program that is drafted"
	}
	return "which nothing here is known to read as a size"
}
