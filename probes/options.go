package probes

import (
	"context"
	"time"
)

// Options says which server to read and how. The zero value reads libpq's
// environment and its default files.
type Options struct {
	DSN string // URL, keyword string or database name, as psql takes them

	// Host, Port, User and Database are psql's flags: each overrides the DSN.
	Host, Port, User, Database string

	// Password is asked once, when the server wants one and none is known from
	// the DSN, the environment or .pgpass; nil: never asked.
	Password func(prompt string) (string, error)

	// Getenv reads the environment for what the driver does not: PGPASSFILE's
	// mode, PGHOSTADDR. nil: not looked at.
	Getenv func(string) string

	Connections int           // 2, or 1; 0 means 2
	Timeout     time.Duration // of a statement, on the client's clock; 0 means 5 s
	AppName     string        // "" means "pgsonde"

	// Wait retries the first connection while the server is full or away.
	Wait bool
	// Notify hears one line for each change while Wait waits; nil: nothing.
	Notify func(string)
}

const (
	defaultTimeout = 5 * time.Second
	defaultApp     = "pgsonde"
)

func (o Options) withDefaults() Options {
	if o.Connections != 1 {
		o.Connections = 2
	}
	if o.Timeout <= 0 {
		o.Timeout = defaultTimeout
	}
	if o.AppName == "" {
		o.AppName = defaultApp
	}
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	if o.Notify == nil {
		o.Notify = func(string) {}
	}
	return o
}

// sleep waits for d or for the end of ctx.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
