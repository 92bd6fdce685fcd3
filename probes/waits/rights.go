package waits

import "github.com/pgsonde/pgsonde/probes"

// rights is what this login may end, by the rule of pg_cancel_backend and
// pg_terminate_backend: a superuser everybody; a member of pg_signal_backend who
// is no superuser; a member of a role that role.
type rights struct {
	known            bool
	user             string
	super, signal    bool
	supers, memberOf map[uint32]bool // by role oid
}

func newRights(s *probes.Snapshot) rights {
	if s == nil || s.Server.VersionNum == 0 {
		return rights{}
	}
	r := rights{
		known: true, user: s.Server.User, super: s.Server.Superuser, signal: s.Server.CanSignal,
		supers: map[uint32]bool{}, memberOf: map[uint32]bool{},
	}
	for _, l := range s.Limits.Roles {
		r.supers[l.OID], r.memberOf[l.OID] = l.Superuser, l.Member
	}
	return r
}

// missing is the grant without which the server will not let this login end s,
// "" none, or not known.
func (r rights) missing(s *probes.Session) string {
	switch {
	case s == nil || !r.known:
		return ""
	case masked(s) && s.UserOID != 0 && r.supers[s.UserOID] && !r.super:
		return "superuser"
	case masked(s) && !r.signal:
		return "pg_read_all_stats, pg_signal_backend"
	case masked(s):
		return "pg_read_all_stats" // what cannot be told from a later session is not ended
	case r.super || s.UserOID == 0:
		return ""
	case r.supers[s.UserOID]:
		return "superuser"
	case !r.signal && !r.memberOf[s.UserOID]:
		return "pg_signal_backend"
	}
	return ""
}

// get says how to get a grant.
func (r rights) get(grant string) string {
	if grant == "superuser" {
		return "it is a superuser's session, which only a superuser may end"
	}
	return "grant " + grant + " to " + r.user
}
