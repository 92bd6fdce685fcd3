package bouncer

import (
	"cmp"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
)

// stop is a process, or a database of one, that somebody stopped.
type stop struct {
	instance int
	database string // "" all
}

// paused finds databases that are paused or disabled, and whole processes: one
// finding for each way of stopping.
func (j *judge) paused() {
	var paused, suspended, databases, disabled []stop
	for i, in := range j.in.Instances {
		r := in.Reading
		if r == nil || in.Err != nil {
			continue
		}
		switch s := r.State; {
		case s != nil && s.Suspended:
			suspended = append(suspended, stop{i, ""})
		case s != nil && s.Paused:
			paused = append(paused, stop{i, ""})
		}
		for _, d := range r.Databases {
			if d.Paused {
				databases = append(databases, stop{i, d.Name})
			}
			if d.Disabled {
				disabled = append(disabled, stop{i, d.Name})
			}
		}
	}
	j.stopped(suspended, rulePaused, "suspended", "RESUME"+agreed("did it", 1))
	j.stopped(paused, rulePaused, "paused", "RESUME"+agreed("did it", 1))
	j.stopped(databases, rulePaused, "paused", each("RESUME", databases)+agreed("paused it", len(databases)))
	j.stopped(disabled, ruleDisabled, "disabled: new clients are refused", each("ENABLE", disabled)+agreed("disabled it", len(disabled)))
}

func agreed(did string, n int) string {
	if n > 1 {
		did = strings.TrimSuffix(did, "it") + "them"
	}
	return " in the console, once whoever " + did + " agrees"
}

// each is the command for every database: "RESUME a; RESUME b".
func each(command string, all []stop) string {
	var out []string
	for _, s := range all {
		if c := command + " " + quoted(s.database); !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return strings.Join(out, "; ")
}

// stopped adds the finding of all that is stopped in one way, with the pools that
// wait for it.
func (j *judge) stopped(all []stop, rule, how, action string) {
	if len(all) == 0 {
		return
	}
	waiting, longest := 0, 0.0
	hit, targets := []string{}, []string{}
	for k := range j.v.Pools {
		p := &j.v.Pools[k]
		if !slices.ContainsFunc(all, func(s stop) bool { return s.instance == p.Instance && (s.database == "" || s.database == p.Database) }) {
			continue
		}
		p.Action = action
		if p.ClientsWaiting > 0 {
			waiting, longest = waiting+p.ClientsWaiting, max(longest, p.MaxWaitS)
			hit = append(hit, p.name())
		}
	}
	for _, s := range all {
		if t := j.v.Instances[s.instance].Target; !slices.Contains(targets, t) {
			targets = append(targets, t)
		}
	}
	f := probes.Finding{
		Rule: rule, Severity: probes.Warn, Subject: j.v.Name, Message: j.stoppedText(all) + how, Action: action,
		Evidence: map[string]any{"targets": targets, "clients_waiting": waiting, "pools": hit},
	}
	if len(all) == 1 {
		f.Subject = cmp.Or(all[0].database, j.v.Name)
	}
	if len(targets) == 1 {
		f.Evidence["target"] = targets[0]
	}
	if rule == ruleDisabled {
		f.Severity = probes.Error
	}
	if waiting > 0 {
		f.Severity, f.SinceS = probes.Error, &longest
		f.Message += "; " + waits(waiting, longest) + ": " + few(hit)
	}
	j.add(f)
}

// stoppedText is "all of pgb 1 and all of pgb 2 are ", "database shop of pgb is "
// or "databases shop, log of pgb are ".
func (j *judge) stoppedText(all []stop) string {
	var parts []string
	for i := range j.v.Instances {
		var names []string
		whole := false
		for _, s := range all {
			switch {
			case s.instance != i:
			case s.database == "":
				whole = true
			default:
				names = append(names, quoted(s.database))
			}
		}
		switch {
		case whole:
			parts = append(parts, "all of "+j.at(i))
		case len(names) == 1:
			parts = append(parts, "database "+names[0]+" of "+j.at(i))
		case len(names) > 1:
			parts = append(parts, "databases "+few(names)+" of "+j.at(i))
		}
	}
	is := " are "
	if len(all) == 1 {
		is = " is "
	}
	return strings.Join(parts, " and ") + is
}

// few is the first of some names, and how many more there are.
func few(names []string) string {
	const most = 5
	out := strings.Join(names[:min(most, len(names))], ", ")
	if more := len(names) - most; more > 0 {
		out += " and " + count(more) + " more"
	}
	return out
}
