-- The tables and indexes of the database, one row each. PostgreSQL 14 and later. Superuser, for the file names.
-- The width is that of pg_statistic, else what the planner takes for the type: its length, for varchar(n) up to n, else 32.
WITH width AS (
  SELECT a.attrelid, pg_catalog.sum(COALESCE(
           (SELECT NULLIF(s.stawidth, 0) * (1 - s.stanullfrac) FROM pg_catalog.pg_statistic s
             WHERE s.starelid = a.attrelid AND s.staattnum = a.attnum ORDER BY s.stainherit LIMIT 1),
           CASE WHEN a.attlen > 0 THEN a.attlen
                WHEN a.atttypid = 'pg_catalog.bpchar'::regtype AND a.atttypmod > 4 THEN a.atttypmod - 4
                WHEN a.atttypid = 'pg_catalog.varchar'::regtype AND a.atttypmod > 4 THEN LEAST(a.atttypmod - 4, 32 + GREATEST(LEAST(a.atttypmod, 1000) - 36, 0) / 2)
                WHEN a.atttypid = 'pg_catalog.numeric'::regtype THEN 10
                ELSE 32 END)) AS bytes
    FROM pg_catalog.pg_attribute a
   WHERE a.attnum > 0 AND NOT a.attisdropped
   GROUP BY a.attrelid)
SELECT c.oid, n.nspname, c.relname, c.relkind, c.reltuples, c.relpages, COALESCE(pg_catalog.pg_relation_filepath(c.oid), ''),
       COALESCE(x.indrelid::text, ''), COALESCE(am.amname::text, ''), COALESCE(w.bytes, 0),
       COALESCE((SELECT pg_catalog.string_agg(p.relid::oid::text, ' ')
                   FROM pg_catalog.pg_partition_ancestors(COALESCE(x.indrelid, c.oid)) p
                  WHERE c.relkind IN ('r', 'p', 'f') AND p.relid <> c.oid), '')
  FROM pg_catalog.pg_class c
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN pg_catalog.pg_index x ON x.indexrelid = c.oid
  LEFT JOIN pg_catalog.pg_am am ON am.oid = c.relam
  LEFT JOIN width w ON w.attrelid = c.oid
 WHERE c.relkind IN ('r', 'p', 'm', 'i', 'I', 'f') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
 ORDER BY c.oid
