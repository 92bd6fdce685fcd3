package waits

import "github.com/pgsonde/pgsonde/probes"

// rights is what this login may end.
type rights struct {
	known bool
	user  string
	of    probes.Rights
}

func newRights(s *probes.Snapshot) rights {
	if s == nil || s.Server.VersionNum == 0 {
		return rights{}
	}
	return rights{known: true, user: s.Server.User, of: probes.NewRights(s.Server, s.Limits)}
}

// missing is the grant without which this login may not end s, "" none, or not known.
func (r rights) missing(s *probes.Session) string {
	if s == nil || !r.known {
		return ""
	}
	return r.of.Missing(s.UserOID, masked(s))
}

// get says how to get a grant.
func (r rights) get(grant string) string {
	if why := probes.WhyMissing(grant); why != "" {
		return why
	}
	return "grant " + grant + " to " + r.user
}
