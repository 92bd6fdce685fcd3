package bouncer

import "github.com/pgsonde/pgsonde/probes"

// Rule documents one check: what a finding of that name means.
type Rule struct {
	Name     string
	Severity probes.Severity
	Meaning  string // one line
	Source   string // where the fact behind it comes from
}

// Names of the rules. Those that package budget holds against the file alone have
// the same name there: pooler-clients-over, pooler-server-over,
// session-pool-short, needs-session-state.
const (
	ruleClientsOver  = "pooler-clients-over"
	ruleServerSide   = "pooler-server-over"
	ruleNotFull      = "waiting-while-pool-not-full"
	rulePoolFull     = "pooler-pool-full"
	rulePaused       = "pooler-paused"
	ruleDisabled     = "pooler-disabled"
	ruleCancels      = "pooler-cancels-waiting"
	ruleSessionPool  = "session-pool-short"
	ruleStranded     = "advisory-lock-stranded"
	ruleSessionState = "needs-session-state"
	ruleFileDiffers  = "pooler-file-differs"
	ruleUnreachable  = "pooler-console-away"
)

// Rules lists every rule that a finding of this package can name, with its worst
// severity.
func Rules() []Rule {
	return []Rule{
		{ruleClientsOver, probes.Error, "clients of a pooler are at or near max_client_conn, or its roles can open more than that", "PgBouncer's config manual, max_client_conn"},
		{ruleServerSide, probes.Error, "the pools of all instances can open more connections than the server has for them", "PgBouncer's config manual, default_pool_size: for each user and database"},
		{rulePoolFull, probes.Error, "clients wait because every server connection of their pool is taken, and what takes them", "PgBouncer's usage manual, SHOW POOLS"},
		{ruleNotFull, probes.Error, "clients wait or fail although their pool is not full: no new server connection can be opened", "launch_new_connection in PgBouncer's objects.c"},
		{rulePaused, probes.Error, "a database or the whole pooler is paused or suspended", "PgBouncer's usage manual, PAUSE"},
		{ruleDisabled, probes.Error, "a database is disabled: new clients are refused", "PgBouncer's usage manual, DISABLE"},
		{ruleCancels, probes.Info, "requests to cancel wait for server connections", "PgBouncer's usage manual, cl_waiting_cancel_req"},
		{ruleSessionPool, probes.Warn, "a pool in session mode has more clients than servers: each client keeps one while it is connected", "PgBouncer's config manual, pool_mode"},
		{ruleStranded, probes.Error, "a session advisory lock was left behind on an idle server connection of a transaction pooler", "PgBouncer's features page, SQL feature map for pooling modes"},
		{ruleSessionState, probes.Warn, "a role that needs LISTEN, session advisory locks or such goes through a transaction pooler", "PgBouncer's features page, SQL feature map for pooling modes"},
		{ruleFileDiffers, probes.Warn, "the budget file says other limits than the pooler has", ""},
		{ruleUnreachable, probes.Warn, "the admin console of a pooler cannot be read", ""},
	}
}
