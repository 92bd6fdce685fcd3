package probes

import "context"

// Diagnosis is what a login can see and do on a server, for the doctor command.
type Diagnosis struct {
	Server Server
	Limits Limits
	Checks []Check
}

// Check is one ability. Fix is the exact statement or setting that is missing,
// "" when nothing is.
type Check struct {
	Name   string // kebab-case
	OK     bool
	Detail string // one line
	Fix    string // one line
}

// Diagnose connects once, asks what this login can see and do, and disconnects.
// The error is a *ConnectError when there is no connection.
func Diagnose(ctx context.Context, o Options) (Diagnosis, error) {
	o.Connections = 1
	s, err := Open(ctx, o)
	if err != nil {
		return Diagnosis{}, err
	}
	defer s.Close()
	server, limits := s.Facts()
	return Diagnosis{Server: server, Limits: limits}, nil
}
