package explain

import (
	"regexp"
	"strconv"
)

var paramInText = regexp.MustCompile(`\$\d+\b`)

// spell writes the placeholders in what is said as the statement writes them, where
// they have names: :at, not $1. One of ? or %s has none: it stays a number.
func (j *judgement) spell() {
	if j.norm.Dialect.Positional() {
		return
	}
	spelling := map[int]string{}
	for _, p := range j.norm.Params {
		spelling[p.N] = p.Spelling
	}
	say := func(texts ...*string) {
		for _, text := range texts {
			*text = paramInText.ReplaceAllStringFunc(*text, func(param string) string {
				n, _ := strconv.Atoi(param[1:])
				if name := spelling[n]; name != "" {
					return name
				}
				return param
			})
		}
	}
	for i := range j.out.Findings {
		f := &j.out.Findings[i]
		say(&f.Message, &f.Action, &f.Subject)
		for k, v := range f.Evidence {
			if text, ok := v.(string); ok {
				say(&text)
				f.Evidence[k] = text
			}
		}
	}
	for i := range j.out.Tried {
		say(&j.out.Tried[i].Why)
	}
	if c := j.out.Cursor; c != nil && c.Bound != nil {
		say(c.Bound)
	}
	f := j.out.Fix
	if f == nil {
		return
	}
	say(&f.Why)
	for _, lines := range [][]string{f.Proof, f.Assumes} {
		for i := range lines {
			say(&lines[i])
		}
	}
}
