-- Where pg_stat_statements is installed in this database: one row, or none. PostgreSQL 14 and later. No privileges needed.
SELECT n.nspname::text
  FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
 WHERE e.extname = 'pg_stat_statements'
