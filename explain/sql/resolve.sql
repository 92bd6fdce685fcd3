-- OIDs of the relation names $1, NULL for none, in step. PostgreSQL 14 and later. No privileges needed.
-- Runs under the search_path of another role, so it uses no operator and no type that a schema on it could replace.
SELECT pg_catalog.to_regclass(u.n)::pg_catalog.oid::pg_catalog.int8
  FROM pg_catalog.unnest($1::pg_catalog.text[]) WITH ORDINALITY AS u (n, i) ORDER BY u.i
