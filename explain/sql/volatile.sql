-- Volatile functions among the names $1, whatever their schema. PostgreSQL 14 and later. No privileges needed.
SELECT DISTINCT p.proname::text FROM pg_catalog.pg_proc p
 WHERE p.proname = ANY ($1::text[]) AND p.provolatile = 'v' ORDER BY 1
