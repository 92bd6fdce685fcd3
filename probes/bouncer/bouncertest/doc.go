// Package bouncertest gives tests a real PgBouncer in front of a throw-away
// server. Only tests import it.
package bouncertest
