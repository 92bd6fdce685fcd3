package bouncer

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/pgsonde/pgsonde/probes"
)

const (
	// noticeS is a wait that is worth a finding, seriousS one that callers feel:
	// most pools give up after some seconds.
	noticeS, seriousS = 1.0, 5.0
	// nearPercent of max_client_conn is near.
	nearPercent = 90
)

func (j *judge) findings() {
	j.away()
	j.paused()
	for i := range j.v.Pools {
		j.waiting(&j.v.Pools[i])
		j.sessionsShort(&j.v.Pools[i])
	}
	j.planShort()
	j.clientsOver()
	j.serverSideOver()
	j.stranded()
	j.sessionState()
	j.fileDiffers()
	j.v.own = slices.Clone(j.v.Findings)
	j.v.Findings = append(j.v.Findings, together(j.v.stuck)...)
	worstFirst(j.v.Findings)
}

func worstFirst(all []probes.Finding) {
	rank := []probes.Severity{probes.Error, probes.Warn, probes.Info}
	slices.SortStableFunc(all, func(a, b probes.Finding) int {
		return cmp.Compare(slices.Index(rank, a.Severity), slices.Index(rank, b.Severity))
	})
}

func (j *judge) add(f probes.Finding) {
	if f.Evidence == nil {
		f.Evidence = map[string]any{}
	}
	f.Evidence["pooler"] = j.v.Name
	j.v.Findings = append(j.v.Findings, f)
}

// at names an instance, by its number where there are several.
func (j *judge) at(i int) string { return quoted(j.v.Name) + j.v.number(i) }

func (j *judge) away() {
	for i, in := range j.v.Instances {
		if in.Err == "" {
			continue
		}
		why, action := in.Err, "see whether PgBouncer runs, and whether this user is in stats_users"
		if ce := (*probes.ConnectError)(nil); errors.As(j.in.Instances[i].Err, &ce) {
			why, action = oneLine(ce.Msg)+", at "+in.Target+" as "+ce.User, cmp.Or(ce.Hint, action)
		}
		f := probes.Finding{
			Rule: ruleUnreachable, Severity: probes.Warn, Subject: j.v.Name,
			Message:  fmt.Sprintf("the console of %s cannot be read: %s", j.at(i), why),
			Action:   action,
			Evidence: map[string]any{"target": in.Target, "age_s": nil},
		}
		if in.OldS > 0 {
			f.Message += "; its figures are " + ago(in.OldS) + " old"
			f.Evidence["age_s"] = in.OldS
		}
		j.add(f)
	}
}

func wait(n int) string {
	if n == 1 {
		return "waits"
	}
	return "wait"
}
