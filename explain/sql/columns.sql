-- The columns of relations $1 (OIDs) with what ANALYZE knows of them. PostgreSQL 14 and later.
-- The statistics are NULL without SELECT on the table. A partition's root has inherited statistics, which win.
SELECT a.attrelid::bigint, a.attname::text, ty.name, ty.domain, a.attnotnull,
       s.n_distinct::float8, s.null_frac::float8, s.most_common_freqs[1]::float8, s.correlation::float8, COALESCE(s.avg_width, 0),
       pg_catalog.row_number() OVER (PARTITION BY a.attrelid ORDER BY a.attnum)::int,
       COALESCE((SELECT co.collname FROM pg_catalog.pg_collation co WHERE co.oid = a.attcollation), '')::text
  FROM pg_catalog.pg_attribute a
  JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  JOIN LATERAL ( -- of a domain the type below it, by which its values are compared
       WITH RECURSIVE below AS (
            SELECT t.oid, a.atttypmod AS typmod, t.typtype, t.typbasetype, t.typtypmod FROM pg_catalog.pg_type t WHERE t.oid = a.atttypid
             UNION ALL
            SELECT t.oid, b.typtypmod, t.typtype, t.typbasetype, t.typtypmod FROM below b JOIN pg_catalog.pg_type t ON t.oid = b.typbasetype WHERE b.typtype = 'd')
       SELECT pg_catalog.format_type(below.oid, below.typmod) AS name, below.oid <> a.atttypid AS domain FROM below WHERE below.typtype <> 'd') ty ON true
  LEFT JOIN LATERAL (
       SELECT st.n_distinct, st.null_frac, st.most_common_freqs, st.correlation, st.avg_width FROM pg_catalog.pg_stats st
        WHERE st.schemaname = n.nspname AND st.tablename = c.relname AND st.attname = a.attname
        ORDER BY st.inherited DESC LIMIT 1) s ON true
 WHERE a.attrelid = ANY ($1::bigint[]::oid[]) AND a.attnum > 0 AND NOT a.attisdropped
