package pgserver

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
)

// DSN is the keyword string for a user and database over the socket, which
// needs no password.
func (s *Server) DSN(user, database string) string {
	port := s.port
	if port == 0 {
		port = socketPort
	}
	return fmt.Sprintf("host=%s port=%d user=%s dbname=%s sslmode=disable",
		quoteDSN(s.dir), port, quoteDSN(user), quoteDSN(database))
}

// TCPDSN is the keyword string over 127.0.0.1, with the server's password. Only
// postgres has it from the start; another user gets it by ALTER ROLE. Empty
// without Options.TCP.
func (s *Server) TCPDSN(user, database string) string {
	if s.port == 0 {
		return ""
	}
	return fmt.Sprintf("host=127.0.0.1 port=%d user=%s dbname=%s password=%s sslmode=disable",
		s.port, quoteDSN(user), quoteDSN(database), s.password)
}

// Password is what TCP asks for: random per server, letters and digits only, so
// it needs no quoting in SQL or a DSN. Empty without Options.TCP.
func (s *Server) Password() string { return s.password }

// setPassword gives postgres the server's password.
func (s *Server) setPassword(ctx context.Context) error {
	s.password = rand.Text()
	c, err := s.Open(ctx, ConnOptions{})
	if err != nil {
		return fmt.Errorf("setting the password: %w", err)
	}
	defer c.Close()
	if err := c.Exec(ctx, "ALTER ROLE postgres PASSWORD '"+s.password+"'"); err != nil {
		return fmt.Errorf("setting the password: %w", err)
	}
	return nil
}

// quoteDSN quotes a value of a keyword string where it needs it.
func quoteDSN(v string) string {
	if v != "" && !strings.ContainsAny(v, ` '\`+"\t\n") {
		return v
	}
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(v) + "'"
}
