package main

import (
	"time"

	"github.com/pgsonde/pgsonde/probes"
)

// cli is the whole command line.
type cli struct {
	common

	Tui       tuiCmd       `cmd:"" default:"withargs" help:"Open the terminal UI (the default)."`
	Roles     rolesCmd     `cmd:"" help:"Connections in use per application role, against the budget."`
	Sessions  sessionsCmd  `cmd:"" help:"All sessions, one line each."`
	Locks     locksCmd     `cmd:"" help:"Who waits for whom: the lock-wait forest."`
	Poolers   poolersCmd   `cmd:"" help:"PgBouncer: pools against their sizes, and why clients wait."`
	Explain   explainCmd   `cmd:"" help:"Where does a page of rows start: verdict, evidence, fix, proof."`
	Cancel    cancelCmd    `cmd:"" help:"Cancel the statement of one backend."`
	Terminate terminateCmd `cmd:"" help:"End one backend."`
	Budget    budgetCmd    `cmd:"" help:"Check, plan or draft a connection budget."`
	Doctor    doctorCmd    `cmd:"" help:"What this login can see and do, and the grant that is missing."`
	Demo      demoCmd      `cmd:"" help:"Start a throw-away PostgreSQL that plays an incident, and open the terminal UI on it."`
	Rules     rulesCmd     `cmd:"" help:"List the rules that findings name."`
	Version   versionCmd   `cmd:"" help:"Print the version."`
}

// common are the flags of every command. Each is also PGSONDE_NAME in the
// environment and "name:" in config.yaml.
type common struct {
	Host     string `short:"H" placeholder:"HOST" group:"conn" help:"Server host or socket folder."`
	Port     string `short:"p" placeholder:"PORT" group:"conn" help:"Server port."`
	Username string `short:"U" placeholder:"NAME" group:"conn" help:"Database user."`
	Dbname   string `short:"d" placeholder:"DBNAME" group:"conn" help:"Database name, URL or keyword string."`

	Wait        bool          `group:"conn" help:"When the server is full, keep trying for a slot."`
	Connections int           `enum:"1,2" default:"2" group:"conn" help:"Connections to hold: 2, or 1 on a saturated server."`
	Timeout     time.Duration `default:"5s" group:"conn" help:"Time limit of one statement."`

	Pooler []string `sep:"none" placeholder:"DSN" group:"conn" help:"Admin console of a PgBouncer, for poolers and the Poolers screen; NAME=DSN for a pooler of the budget; may be repeated."`

	BudgetFile string          `name:"budget" short:"b" placeholder:"FILE" group:"out" help:"Budget file (default: pgsonde.yaml here, then in the config folder)."`
	Interval   time.Duration   `default:"1s" group:"out" help:"Time between two readings."`
	Format     string          `enum:"text,json,sarif" default:"text" group:"out" help:"Output: text or json; explain: sarif too."`
	FailOn     probes.Severity `enum:"error,warn,never" default:"error" group:"out" help:"Exit with 1 when a finding is at least this severe: error, warn or never."`
	Color      string          `enum:"auto,always,never" default:"auto" group:"out" help:"Colours: auto, always or never."`
	Theme      string          `enum:"dark,light" default:"dark" group:"out" help:"Palette: dark or light."`
	ASCII      bool            `group:"out" help:"Draw with ASCII only."`
	ReadOnly   bool            `group:"out" help:"No cancel, no terminate, no ANALYZE."`
}

// target is the optional positional DSN of the commands that connect.
type target struct {
	DSN string `arg:"" optional:"" placeholder:"DSN" help:"URL, keyword string or database name, as for psql; without it libpq's environment."`
}
