-- Functions of the names $1, whatever their schema, and whether one of that name is volatile. PostgreSQL 14 and later. No privileges needed.
SELECT p.proname::text, pg_catalog.bool_or(p.provolatile = 'v') FROM pg_catalog.pg_proc p
 WHERE p.proname = ANY ($1::text[]) GROUP BY 1 ORDER BY 1
