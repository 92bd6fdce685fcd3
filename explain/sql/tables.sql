-- The relations that plans name, one row each. PostgreSQL 14 and later. No privileges needed.
-- $1 schemas (empty: by search_path), $2 names, in step. A partition's root is itself where it is none.
SELECT w.schema, w.name, n.nspname::text, c.relname::text, c.oid::bigint, c.relkind::text,
       c.reltuples::float8, c.relpages::float8,
       CASE WHEN c.relispartition THEN pg_catalog.pg_partition_root(c.oid)::oid::bigint ELSE c.oid::bigint END,
       CASE WHEN c.relispartition THEN
         (SELECT rn.nspname || '.' || r.relname FROM pg_catalog.pg_class r
            JOIN pg_catalog.pg_namespace rn ON rn.oid = r.relnamespace
           WHERE r.oid = pg_catalog.pg_partition_root(c.oid)) ELSE '' END::text
  FROM ROWS FROM (pg_catalog.unnest($1::text[]), pg_catalog.unnest($2::text[])) AS w(schema, name)
  JOIN pg_catalog.pg_class c ON c.oid = pg_catalog.to_regclass(
         CASE WHEN w.schema = '' THEN pg_catalog.quote_ident(w.name)
              ELSE pg_catalog.quote_ident(w.schema) || '.' || pg_catalog.quote_ident(w.name) END)
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
