package probes

// Rights is whom a login may end, by the rule of pg_cancel_backend and
// pg_terminate_backend: a superuser everybody; a member of pg_signal_backend who
// is no superuser; a member of a role that role.
type Rights struct {
	super, signal    bool
	supers, memberOf map[uint32]bool // by role oid
}

// NewRights are those of the login that read these.
func NewRights(server Server, limits Limits) Rights {
	r := Rights{super: server.Superuser, signal: server.CanSignal, supers: map[uint32]bool{}, memberOf: map[uint32]bool{}}
	for _, l := range limits.Roles {
		r.supers[l.OID], r.memberOf[l.OID] = l.Superuser, l.Member
	}
	return r
}

// Missing is the grant, or the grants, without which a session of a role, 0 unknown,
// is not ended by this login, "" none. One that is masked cannot be told from a later
// session, and is not ended either.
func (r Rights) Missing(role uint32, masked bool) string {
	switch {
	case role != 0 && r.supers[role] && !r.super:
		return superuser
	case masked && !r.signal:
		return readAllStats + ", " + signalBackend
	case masked:
		return readAllStats
	case r.super || role == 0, r.signal, r.memberOf[role]:
		return ""
	}
	return signalBackend
}

// WhyMissing says what a grant is missing for, where that is no matter of granting it; "" else.
func WhyMissing(grant string) string {
	if grant == superuser {
		return "it is a superuser's session, which only a superuser may end"
	}
	return ""
}
