// Package sqltext reads PostgreSQL statements as text: tokens, statements of a
// file, placeholders, the blocks of a query and its conditions, all with byte
// ranges into the source, so that a change can be a splice which leaves
// comments, case and layout alone.
//
// It knows the lexical rules and the operator precedences of PostgreSQL, not
// its whole grammar. What it does not know becomes an Opaque expression or is
// skipped up to the next clause; reading never fails as a whole, never panics
// and takes time linear in the length of the text. Whether a statement is valid
// SQL is for the server to say.
//
// The package is pure: it imports nothing of this module and no database driver.
package sqltext
