// Package explain says of a list query where its page starts, and what to do
// about one that starts at the wrong end.
//
// A page behind a cursor ("keyset pagination") can be read by an index scan that
// starts at the cursor, or by one that starts at the first row and throws away
// all rows before the cursor. Both plans look alike: an ordered Index Scan under
// a Limit with a low estimated cost. [Judge] tells them apart.
//
// # How it judges
//
// Plan first. The generic plan is explained, every scan that feeds a Limit
// without a sort between is compared with its index's columns (see [Scans]), and
// the verdict follows from what the index condition says and what the filter
// implies (see [Implied]). Spelling does not matter, so views, sub-selects and
// what an ORM makes of a cursor are judged alike. The text comes second: it
// gives the cursor a name ([RecogniseCursor]), finds mistakes that no plan shows
// ([Smells]) and is what a rewrite is spliced into ([Fixes]).
//
// A fix is offered only if the planner, asked again, starts at the cursor. What
// shows that it keeps the same rows is part of it: PostgreSQL's own prover for a
// bound, every case compared for a row comparison, and with analyze the rows.
//
// # What runs on the server
//
// Nothing is executed without Options.Analyze, but planning alone already runs
// immutable and stable functions, so text of other sessions is refused for a
// superuser unless RunnerOptions.AsSuperuser says otherwise: the login is the
// fence. Everything goes through a session of the Runner's own, one statement
// at a time by PREPARE over the extended protocol (a second statement behind a
// semicolon is an error of the server), in BEGIN READ ONLY with statement,
// lock and idle timeouts and the search_path of the role that runs the
// statement, and is rolled back; advisory locks are let go. Only SELECT, WITH,
// VALUES and TABLE are sent, and of a DELETE or UPDATE the limited SELECT inside.
//
// explain/sqltext reads SQL, explain/plan reads plans; neither knows a server.
package explain
