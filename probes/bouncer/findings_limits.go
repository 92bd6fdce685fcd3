package bouncer

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
)

// clientsOver holds each instance's clients, and what the roles can open, against
// max_client_conn.
func (j *judge) clientsOver() {
	for i, in := range j.v.Instances {
		if in.OldS > 0 || in.ClientsUsed == nil || in.ClientsMax == nil || *in.ClientsMax <= 0 {
			continue
		}
		used, limit := *in.ClientsUsed, *in.ClientsMax
		if used*100 < limit*nearPercent {
			continue
		}
		f := probes.Finding{
			Rule: ruleClientsOver, Severity: probes.Warn, Subject: j.v.Name,
			Message:  j.at(i) + " has " + ofLimit(used, limit, "max_client_conn", "clients"),
			Action:   "close idle clients or raise max_client_conn, and the process's limit of open files",
			Evidence: map[string]any{"target": in.Target, "clients": used, "max_client_conn": limit, "roles": j.topRoles(i)},
		}
		if used >= limit {
			f.Severity, f.Message = probes.Error, f.Message+": new clients are refused"
		}
		j.add(f)
	}
	j.clientLimits()
	can, limit := j.in.Spec.ClientCap, value(j.v.ClientsMax)
	if n := j.in.Spec.Instances; n > len(j.in.Instances) && len(j.in.Instances) > 0 {
		limit = limit / len(j.in.Instances) * n // the others are as the ones we read
	}
	if can > limit && limit > 0 {
		j.add(probes.Finding{
			Rule: ruleClientsOver, Severity: probes.Warn, Subject: j.v.Name,
			Message:  fmt.Sprintf("the roles of %s can open %d connections, and it lets in %d clients", quoted(j.v.Name), can, limit),
			Action:   "raise max_client_conn to at least that, or make the roles' pools smaller",
			Evidence: map[string]any{"cap": can, "max_client_conn": limit},
		})
	}
}

// clientLimits holds the clients of databases and users against limits of their
// own, which 1.24 brought.
func (j *judge) clientLimits() {
	for i, in := range j.in.Instances {
		if in.Reading == nil || in.Err != nil {
			continue
		}
		near := func(what, name string, used, limit *int) {
			if used == nil || value(limit) <= 0 || *used*100 < *limit*nearPercent {
				return
			}
			f := probes.Finding{
				Rule: ruleClientsOver, Severity: probes.Warn, Subject: name,
				Message:  what + " " + quoted(name) + " of " + j.at(i) + " has " + probes.OutOf(*used, *limit, "clients", "limit"),
				Action:   "close idle clients or raise its max_" + map[string]string{"database": "db", "user": "user"}[what] + "_client_connections",
				Evidence: map[string]any{"target": in.Reading.Target, "clients": *used, "limit": *limit},
			}
			if *used >= *limit {
				f.Severity, f.Message = probes.Error, f.Message+": new clients are refused"
			}
			j.add(f)
		}
		for _, d := range in.Reading.Databases {
			near("database", d.Name, d.Clients, d.MaxClients)
		}
		for _, u := range in.Reading.Users {
			near("user", u.Name, u.Clients, u.MaxClients)
		}
	}
}

// topRoles counts the clients of an instance by role.
func (j *judge) topRoles(i int) map[string]int {
	out := map[string]int{}
	for k := range j.v.Clients {
		if c := &j.v.Clients[k]; c.Instance == i {
			out[c.Role]++
		}
	}
	return out
}

func (j *judge) serverSideOver() {
	s := j.v.Servers
	if s.Usable == nil {
		return
	}
	unlimited := s.Cap == nil && len(j.v.Pools) > 0
	if !unlimited && (s.Cap == nil || *s.Cap <= *s.Usable) {
		return
	}
	can := "any number of"
	if !unlimited {
		can = count(*s.Cap)
	}
	of := ", of " + plural(j.v.Read, "instance")
	if part := j.v.Part(); part != "" {
		of = ", " + part
	}
	f := probes.Finding{
		Rule: ruleServerSide, Severity: probes.Warn, Subject: j.v.Name,
		Message: fmt.Sprintf("%s can open %s server connections, and the server has %d; now %d, %d of them idle%s",
			quoted(j.v.Name), can, *s.Usable, s.Now, s.Idle, of),
		Action:   "lower default_pool_size or set max_db_connections; each instance, database and user counts",
		Evidence: map[string]any{"cap": s.Cap, "usable": *s.Usable, "now": s.Now, "idle": s.Idle, "instances": len(j.v.Instances)},
	}
	if used, _ := j.server.used(func(probes.Group) bool { return true }); used >= *s.Usable && s.Now > 0 && !j.saidFull() {
		f.Severity = probes.Error
		f.Message += "; the server is full"
	}
	j.add(f)
}

// saidFull says that pools have a finding of the full server already.
func (j *judge) saidFull() bool {
	return slices.ContainsFunc(j.v.stuck, func(s stuck) bool { return s.ripe && s.pool.refused.full })
}

// fileDiffers holds what the file declares against what the pooler says.
func (j *judge) fileDiffers() {
	spec := j.in.Spec
	var diffs []string
	differ := func(what string, file, live any) {
		if d := fmt.Sprintf("%s is %v, the budget has %v", what, live, file); !slices.Contains(diffs, d) {
			diffs = append(diffs, d)
		}
	}
	for _, in := range j.v.Instances {
		if in.ClientsMax != nil && spec.MaxClientConn > 0 && *in.ClientsMax != spec.MaxClientConn {
			differ("max_client_conn", spec.MaxClientConn, *in.ClientsMax)
		}
	}
	for i := range j.v.Pools {
		p := &j.v.Pools[i]
		for _, want := range spec.Pools {
			if want.Database != p.Database || want.User != p.User {
				continue
			}
			if want.Size != p.Size {
				differ("pool_size of "+p.name(), want.Size, p.Size)
			}
			if spec.Mode != "" && p.Mode != "" && spec.Mode != p.Mode {
				differ("mode of "+p.name(), spec.Mode, p.Mode)
			}
		}
	}
	if len(diffs) == 0 {
		return
	}
	more := ""
	if len(diffs) > 3 {
		more = fmt.Sprintf(" and %d more", len(diffs)-3)
	}
	j.add(probes.Finding{
		Rule: ruleFileDiffers, Severity: probes.Warn, Subject: j.v.Name,
		Message: quoted(j.v.Name) + ": " + strings.Join(diffs[:min(3, len(diffs))], "; ") + more, Action: "correct the budget file or the pooler: live sums are of the pooler, those of budget check of the file",
		Evidence: map[string]any{"differences": diffs},
	})
}
