package budget

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pgsonde/pgsonde/probes"
)

// timeChecks hold what is seen against the parts of a contract that bound a wait
// for a lock, a transaction and a whole job.
func timeChecks() []check {
	const other = "no SQL shows another session's settings: a breach shows that the contract is not in force there"
	return []check{
		{Rule{"lock-wait-over-contract", probes.Warn, "a session waits for a lock longer than its role's lock_timeout", other}, lockWaitOverContract},
		{Rule{"transaction-over-contract", probes.Warn, "a transaction is older than its role's transaction_timeout", "PostgreSQL 17+ transaction_timeout; before, only the client bounds it"}, transactionOverContract},
		{Rule{"deadline-passed", probes.Warn, "a transaction, or all of a job, is older than its role's deadline: nobody waits for it any more", "the deadline of the request, or of the Kubernetes job (activeDeadlineSeconds)"}, deadlinePassed},
	}
}

// expects: the role may be in such a state for long.
func (r *liveRow) expects(g probes.Group) bool {
	if strings.HasPrefix(g.State, "idle in transaction") {
		return slices.Contains(r.role.Expect, "idle-in-transaction")
	}
	return slices.Contains(r.role.Expect, "long-statements")
}

func lockWaitOverContract(l *live) []probes.Finding {
	var out []probes.Finding
	for _, r := range l.rows {
		limit := l.f.Contract(r.Role).LockTimeout.Seconds()
		if !r.judged() || limit == 0 {
			continue
		}
		worst := worstGroup(r, func(g probes.Group) float64 { return g.WaitS })
		if worst == nil || worst.WaitS <= limit+graceS {
			continue
		}
		out = append(out, since(found("lock-wait-over-contract", probes.Warn, r.Role,
			fmt.Sprintf("%s: a session waits %s for a lock; its contract is %s, so lock_timeout is not in force there", r.Role, age(worst.WaitS), age(limit)),
			l.likelyCause("lock_timeout", worst),
			map[string]any{"wait_s": worst.WaitS, "contract_s": limit, "user": worst.User, "database": worst.Database}), worst.WaitS-limit))
	}
	return out
}

// oldestTx is the group with the oldest transaction that the role does not expect.
func (r *liveRow) oldestTx() *probes.Group {
	return worstGroup(r, func(g probes.Group) float64 {
		if g.State == "idle" || r.expects(g) {
			return -1
		}
		return g.MaxTxS
	})
}

func transactionOverContract(l *live) []probes.Finding {
	var out []probes.Finding
	for _, r := range l.rows {
		limit := l.f.Contract(r.Role).TransactionTime.Seconds()
		if !r.judged() || limit == 0 {
			continue
		}
		worst := r.oldestTx()
		if worst == nil || worst.MaxTxS <= limit+graceS {
			continue
		}
		why, action := "so transaction_timeout is not in force there", l.likelyCause("transaction_timeout", worst)
		if v := l.s.Server.VersionNum; v > 0 && v < 170000 {
			why, action = "and this server has no transaction_timeout, which is of PostgreSQL 17", "bound it in the client, or by statement_timeout and idle_in_transaction_session_timeout"
		}
		out = append(out, since(found("transaction-over-contract", probes.Warn, r.Role,
			fmt.Sprintf("%s: a transaction is %s old; its contract is %s, %s", r.Role, age(worst.MaxTxS), age(limit), why),
			action, map[string]any{"transaction_s": worst.MaxTxS, "contract_s": limit, "user": worst.User, "database": worst.Database}), worst.MaxTxS-limit))
	}
	return out
}

// deadlinePassed: of a job the deadline is for all of it, so that its sessions
// are younger; of what always runs it is for a request, so that its transactions
// are. A deadline of "default" is one of requests.
func deadlinePassed(l *live) []probes.Finding {
	var out []probes.Finding
	for _, r := range l.rows {
		limit := l.f.Contract(r.Role).Deadline.Seconds()
		if !r.judged() || limit == 0 {
			continue
		}
		what, old := "a transaction", -1.0
		if worst := r.oldestTx(); worst != nil {
			old = worst.MaxTxS
		}
		if r.role.Runs == RunsJob && l.f.ownDeadline(r.Role) {
			for _, g := range r.groups {
				if age := l.s.At.Sub(g.OldestStart).Seconds(); !g.OldestStart.IsZero() && age > old {
					what, old = "a session of this job", age
				}
			}
		}
		if old <= limit+graceS {
			continue
		}
		out = append(out, since(found("deadline-passed", probes.Warn, r.Role,
			fmt.Sprintf("%s: %s is %s old; its deadline is %s: nobody waits for it any more", r.Role, what, age(old), age(limit)),
			"see whether its pod still exists, then end it; a statement_timeout below the deadline would have",
			map[string]any{"age_s": old, "deadline_s": limit}), old-limit))
	}
	return out
}

// ownDeadline: the settings of the role itself give the deadline.
func (f *File) ownDeadline(role string) bool {
	return slices.ContainsFunc(f.Settings, func(c Contract) bool { return c.Role == role && c.Deadline > 0 })
}

// contractOrder: of each chain, each time of c must be shorter than the next that
// is declared. A pair that own does not touch is default's, and said there.
// statement_timeout ends a wait for a lock too, and transaction_timeout all that
// is in it (PostgreSQL docs, client connection defaults).
func contractOrder(c, own Contract) []probes.Finding {
	of, mine := c.fields(), own.fields()
	var out []probes.Finding
	said := map[string]bool{}
	for _, chain := range [][]string{
		{"connect_wait", "statement_timeout", "query_timeout", "client_timeout", "deadline"},
		{"lock_timeout", "statement_timeout", "transaction_timeout", "deadline"},
		{"lock_timeout", "query_timeout"},
		{"idle_in_transaction", "transaction_timeout"},
	} {
		last := ""
		for _, name := range chain {
			if *of[name] == 0 {
				continue
			}
			a, b := last, name
			last = name
			if a == "" || *of[a] < *of[b] || *mine[a]+*mine[b] == 0 || said[a+b] {
				continue
			}
			said[a+b] = true
			as, bs := of[a].Seconds(), of[b].Seconds()
			out = append(out, found("contract-order", probes.Warn, c.Role,
				fmt.Sprintf("settings of %s: %s %s is not less than %s %s: the outer gives up first", c.Role, a, age(as), b, age(bs)),
				fmt.Sprintf("make %s shorter or %s longer", a, b), map[string]any{a + "_s": as, b + "_s": bs}))
		}
	}
	return out
}
