// Package schema makes a throw-away server from a schema dump, with tables that
// the planner takes for as large as they are in production, so that statements
// can be judged where there is no database.
//
// A dump is loaded statement by statement, as a plain role that owns the
// database, never as the superuser: the file may come from a stranger's pull
// request, and the account that runs this must not run his programs. Extensions
// are made first, by name. What stays out (owners, grants, COPY data, missing
// extensions, statements that fail) is told line by line and not an error.
//
// The planner scales pg_class.reltuples by the real length of a relation's
// files, and takes a file without pages for an empty table. So reltuples and
// relpages are written, and the files of tables and indexes are made as long as
// they say, by holes: zeroed pages are valid new pages, and a plan that is not
// executed reads only the first page of an index. It holds from 14 to 18, where
// pg_restore_relation_stats alone would leave the file at its length.
//
// What such a plan cannot know is the values: without statistics of columns
// every column that is not unique has 200 distinct values in no order, but for an
// enum, which has as many as labels, and a boolean. Statistics
// of PostgreSQL 18 (pg_dump --statistics-only) bring histograms too; a table of
// n_distinct and null_frac does for the older ones.
package schema
