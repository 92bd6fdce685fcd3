package pgserver

import (
	"errors"

	"github.com/jackc/pgx/v5/pgconn"
)

// SQLError is what the server had against a statement.
type SQLError struct {
	Code     string // SQLSTATE
	Message  string
	Position int // character in the statement, from 1; 0 unknown
}

// AsSQLError finds the server's words in an error of Conn; false when it is not
// the server that spoke.
func AsSQLError(err error) (SQLError, bool) {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) {
		return SQLError{}, false
	}
	return SQLError{Code: pg.Code, Message: pg.Message, Position: int(pg.Position)}, true
}
