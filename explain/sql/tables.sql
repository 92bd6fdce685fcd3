-- Relations $1 (OIDs), one row each. PostgreSQL 14 and later. No privileges needed.
-- A partition's root is itself where it is none.
SELECT n.nspname::text, c.relname::text, c.oid::bigint, c.relkind::text, c.reltuples::float8, c.relpages::float8,
       COALESCE((SELECT rn.nspname || '.' || r.relname FROM pg_catalog.pg_class r
                   JOIN pg_catalog.pg_namespace rn ON rn.oid = r.relnamespace
                  WHERE c.relispartition AND r.oid = pg_catalog.pg_partition_root(c.oid)), '')::text,
       COALESCE(CASE WHEN c.relispartition THEN pg_catalog.pg_partition_root(c.oid)::oid::bigint END, c.oid::bigint),
       c.relkind = 'r' AND c.relhassubclass
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE c.oid = ANY ($1::bigint[]::oid[])
