-- The columns of relations $1 (OIDs) with what ANALYZE knows of them. PostgreSQL 14 and later.
-- The statistics are NULL without SELECT on the table. A partition's root has inherited statistics, which win.
SELECT a.attrelid::bigint, a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull,
       s.n_distinct::float8, s.null_frac::float8, s.most_common_freqs[1]::float8, s.correlation::float8, COALESCE(s.avg_width, 0),
       COALESCE((SELECT co.collname FROM pg_catalog.pg_collation co WHERE co.oid = a.attcollation), '')::text
  FROM pg_catalog.pg_attribute a
  JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
  JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  LEFT JOIN LATERAL (
       SELECT st.n_distinct, st.null_frac, st.most_common_freqs, st.correlation, st.avg_width FROM pg_catalog.pg_stats st
        WHERE st.schemaname = n.nspname AND st.tablename = c.relname AND st.attname = a.attname
        ORDER BY st.inherited DESC LIMIT 1) s ON true
 WHERE a.attrelid = ANY ($1::bigint[]::oid[]) AND a.attnum > 0 AND NOT a.attisdropped
