package bouncer

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
)

// refusal is why PostgreSQL would not let a pool's login in now, and what to do;
// the zero value when nothing that was read says so.
type refusal struct {
	why, action string
	full        bool // the whole server has no slot left
}

// refusal is about the snapshot's server, and "" of a pool that may be on another.
func (j *judge) refusal(v *PoolView) refusal {
	if !j.ours(v.Instance, j.in.Instances[v.Instance].Reading.database(v.Database)) {
		return refusal{}
	}
	if r := ofError(j.in.ServerErr); r.why != "" {
		return r
	}
	return j.server.refusal(v.ServerDatabase, v.ServerUser)
}

// ofError is what pgsonde's own attempt says of the server: that it is full or not
// there holds for the pooler too, that it dislikes pgsonde's login does not.
func ofError(err error) refusal {
	var ce *probes.ConnectError
	if errors.As(err, &ce) {
		switch ce.Kind {
		case probes.KindFull:
			if strings.Contains(ce.Msg, "for role \"") || strings.Contains(ce.Msg, "for database \"") {
				return refusal{}
			}
			return refusal{"PostgreSQL is full: it refused pgsonde too (" + oneLine(ce.Msg) + ")", actionFull, true}
		case probes.KindStarting:
			return refusal{"PostgreSQL does not take connections now: " + oneLine(ce.Msg), "see its log for why it starts or stops", false}
		case probes.KindUnreachable:
			return refusal{
				"PostgreSQL cannot be reached, by pgsonde neither: " + oneLine(ce.Msg),
				"see whether PostgreSQL runs, listens there and is let through", false,
			}
		}
		return refusal{}
	}
	var away *probes.Unavailable
	if errors.As(err, &away) && slices.Contains([]string{"restarting", "starting up", "shutting down", "in recovery", "unreachable"}, away.State) {
		return refusal{"PostgreSQL is " + away.State + ": pgsonde does not reach it either", "see whether PostgreSQL runs, and its log", false}
	}
	return refusal{}
}

// isAway says that the server itself is not there, as against one that refuses.
func isAway(err error) bool {
	var ce *probes.ConnectError
	if errors.As(err, &ce) {
		return ce.Kind == probes.KindUnreachable || ce.Kind == probes.KindStarting
	}
	return ofError(err).why != ""
}

// targetOf is the server that pgsonde asked for: as the snapshot says it, or the
// error.
func targetOf(in Input) string {
	var ce *probes.ConnectError
	switch {
	case in.Snapshot != nil:
		return in.Snapshot.Server.Target
	case errors.As(in.ServerErr, &ce):
		return ce.Target
	}
	return ""
}

const actionFull = "free connections on the server: Roles says who has them; a larger pool would be refused as well"

// refusal is why the snapshot's server would refuse this login.
func (b *backends) refusal(database, user string) refusal {
	if b.snap == nil || b.snap.Limits.MaxConnections == 0 {
		return refusal{}
	}
	role, known := b.role(user)
	own := func(mine bool) int {
		if mine {
			return len(b.snap.Server.OwnPIDs)
		}
		return 0
	}
	n, _ := b.used(func(g probes.Group) bool { return g.User == user })
	if n += own(b.snap.Server.User == user); known && role.ConnLimit >= 0 && n >= role.ConnLimit && !role.Superuser {
		return refusal{
			fmt.Sprintf("role %s has CONNECTION LIMIT %d and %s", quoted(user), role.ConnLimit, plural(n, "connection")),
			"raise the role's CONNECTION LIMIT, or make its pools smaller than it", false,
		}
	}
	if !known && len(b.snap.Limits.Roles) > 0 {
		return b.mayNot(user)
	}
	if r := b.databaseRefusal(database, role.Superuser, own(b.snap.Server.Database == database)); r.why != "" {
		return r
	}
	slots := b.snap.Limits.Usable()
	switch {
	case role.Superuser:
		slots = b.snap.Limits.MaxConnections
	case slices.Contains(b.snap.Limits.ReservedUsers, user):
		slots += b.snap.Limits.Reserved
	}
	n, _ = b.used(func(probes.Group) bool { return true })
	if n += own(true); n >= slots {
		return refusal{"PostgreSQL is full: " + probes.OutOf(n, slots, "connections taken", "limit"), actionFull, true}
	}
	return refusal{}
}

// mayNot is a role without the right to log in, or none.
func (b *backends) mayNot(user string) refusal {
	if slices.Contains(b.snap.Limits.NoLogin, user) {
		return refusal{
			"role " + quoted(user) + " may not log in: it is NOLOGIN",
			"alter role " + quoted(user) + " login, if it was not taken away on purpose; or let the pool log in as another role", false,
		}
	}
	return refusal{
		"PostgreSQL has no role " + quoted(user) + " that may log in",
		"create the role, or correct the user in PgBouncer's [databases] or auth_file", false,
	}
}

func (b *backends) databaseRefusal(database string, superuser bool, own int) refusal {
	all := b.snap.Limits.Databases
	i := slices.IndexFunc(all, func(d probes.DatabaseLimit) bool { return d.Name == database })
	if i < 0 && len(all) > 0 {
		return refusal{
			"database " + quoted(database) + " takes no connections, or there is none of that name",
			"see \\l on the server: correct dbname in PgBouncer's [databases], or alter database … allow_connections true", false,
		}
	}
	if i < 0 || all[i].ConnLimit < 0 || superuser {
		return refusal{}
	}
	n, _ := b.used(func(g probes.Group) bool { return g.Database == database })
	if n += own; n < all[i].ConnLimit {
		return refusal{}
	}
	return refusal{
		fmt.Sprintf("database %s has CONNECTION LIMIT %d and %s", quoted(database), all[i].ConnLimit, plural(n, "connection")),
		"raise the database's CONNECTION LIMIT, or make the pools that use it smaller", false,
	}
}
