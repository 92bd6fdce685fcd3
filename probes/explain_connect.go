package probes

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"os"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// lastPgError finds the server's last word in an error that joins attempts: with
// sslmode=prefer the first is only "refused TLS", the last is the cause.
func lastPgError(err error) (code, msg string) {
	if pe := lastServerError(err); pe != nil {
		return pe.Code, pe.Message
	}
	return "", ""
}

func lastServerError(err error) *pgconn.PgError {
	if err == nil {
		return nil
	}
	if pe, ok := err.(*pgconn.PgError); ok {
		return pe
	}
	switch u := err.(type) {
	case interface{ Unwrap() []error }:
		errs := u.Unwrap()
		for i := len(errs) - 1; i >= 0; i-- {
			if pe := lastServerError(errs[i]); pe != nil {
				return pe
			}
		}
	case interface{ Unwrap() error }:
		return lastServerError(u.Unwrap())
	}
	return nil
}

// lastAttempt is the error of the last of several attempts.
func lastAttempt(err error) error {
	for {
		switch u := err.(type) {
		case interface{ Unwrap() []error }:
			errs := u.Unwrap()
			if len(errs) == 0 {
				return err
			}
			err = errs[len(errs)-1]
		case *pgconn.ConnectError:
			err = u.Unwrap()
		default:
			return err
		}
	}
}

// explain turns a driver's error into one line and one hint.
func (t *route) explain(err error) *ConnectError {
	var ce *ConnectError
	if errors.As(err, &ce) {
		return ce
	}
	ce = &ConnectError{Target: t.name(), User: t.cfg.User, Err: err}
	if pe := lastServerError(err); pe != nil {
		t.explainServer(ce, pe)
	} else {
		t.explainNetwork(ce, lastAttempt(err))
	}
	return ce
}

func (t *route) explainServer(ce *ConnectError, pe *pgconn.PgError) {
	ce.Code, ce.Msg = pe.Code, oneLineText(decodeText("", []byte(pe.Message)))
	ce.Kind = kindOf(pe.Code)
	switch {
	case pe.Code == "53300":
		ce.Hint = fullHint(pe.Message)
	case ce.Kind == KindStarting:
		ce.Hint = "wait for it: --wait"
	case wantsPassword(pe.Code, pe.Message) && t.cfg.Password == "":
		ce.Kind = KindAuth
		ce.Hint = "no password was given: PGPASSWORD, ~/.pgpass, or a terminal to ask on"
		if t.passfile != "" {
			ce.Hint = t.passfile
		}
	case wantsPassword(pe.Code, pe.Message):
		ce.Kind, ce.Hint = KindAuth, "check the password, and which role it belongs to"
	case strings.Contains(pe.Message, "no pg_hba.conf entry"):
		ce.Kind, ce.Hint = KindAuth, "the server's pg_hba.conf has no line for this role, database and address"
	case ce.Kind == KindAuth && strings.Contains(pe.Message, "does not exist"):
		ce.Hint = "choose the role with -U ROLE"
	case ce.Kind == KindAuth && strings.Contains(pe.Message, "not permitted to log in"):
		ce.Hint = "alter role … login, or choose another role with -U ROLE"
	case ce.Kind == KindAuth:
		ce.Hint = "another role (-U) or host (-H) may be let in; see the server's pg_hba.conf"
	case pe.Code == "3D000":
		ce.Hint = "choose the database with -d DATABASE"
	case pe.Code == "42501":
		ce.Hint = "grant connect on database … to this role, or choose another with -d"
	case pe.Code == "25006":
		ce.Hint = "a login event trigger of this database writes; choose another database with -d"
	}
}

// kindOf sorts an SQLSTATE; KindRefused for the rest.
func kindOf(code string) string {
	switch code {
	case "53300":
		return KindFull
	case "57P01", "57P02", "57P03":
		return KindStarting
	case "28P01", "28000":
		return KindAuth
	case "3D000", "42501":
		return KindDatabase
	}
	return KindRefused
}

// fullHint tells the walls apart that all say 53300.
func fullHint(msg string) string {
	switch {
	case strings.HasPrefix(msg, "too many connections for role"):
		return "this role's own CONNECTION LIMIT is reached: use another role, or --wait"
	case strings.HasPrefix(msg, "too many connections for database"):
		return "this database's CONNECTION LIMIT is reached: connect to another database (-d), or --wait"
	case strings.HasPrefix(msg, "sorry, too many clients"):
		return "every slot is taken, the reserved ones too: --wait tries for a free one"
	}
	return "only reserved slots are left: a superuser or, from 16 on, a member of pg_use_reserved_connections gets in; or --wait"
}

func (t *route) explainNetwork(ce *ConnectError, err error) {
	var dns *net.DNSError
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var cert *tls.CertificateVerificationError
	switch {
	case errors.As(err, &dns):
		ce.Kind, ce.Msg, ce.Hint = KindUnreachable, "host name "+dns.Name+" is not known", "check the host name (-H)"
	case errors.Is(err, syscall.ECONNREFUSED):
		ce.Kind, ce.Msg, ce.Hint = KindUnreachable, "connection refused", "is the server running, and does it listen on this address and port?"
	case errors.Is(err, os.ErrNotExist):
		ce.Kind, ce.Msg, ce.Hint = KindUnreachable, "no such socket", "is the server running there? choose the host with -H and the port with -p"
	case errors.Is(err, os.ErrPermission):
		ce.Kind, ce.Msg, ce.Hint = KindUnreachable, "no permission to open the socket", "run as a user that may, or connect over TCP with -H localhost"
	case pgconn.Timeout(err) || errors.Is(err, context.DeadlineExceeded):
		ce.Kind, ce.Msg, ce.Hint = KindTimeout, "no answer in time", "a firewall, a wrong address, or a server that is stuck"
	case errors.As(err, &unknown), errors.As(err, &host), errors.As(err, &cert):
		ce.Kind, ce.Msg, ce.Hint = KindTLS, oneLine(innermost(err)), "check sslmode and sslrootcert"
	case strings.Contains(err.Error(), "server refused TLS connection"):
		ce.Kind, ce.Msg, ce.Hint = KindTLS, "the server does not offer TLS", "sslmode=disable or prefer connects without it"
	default:
		ce.Kind, ce.Msg = KindUnreachable, oneLine(innermost(err))
		ce.Hint = "is it a PostgreSQL server, and is it healthy?"
	}
}

// innermost drops the prefixes that name the driver's own steps.
func innermost(err error) error {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err
		}
		if _, ok := next.(syscall.Errno); ok {
			return next
		}
		err = next
	}
}

func oneLine(err error) string { return oneLineText(err.Error()) }

func oneLineText(s string) string { return strings.Join(strings.Fields(s), " ") }
