-- How many statements of this database belong to roles whose texts the login may not read. One row. PostgreSQL 14 and later.
-- Without the texts (showtext false) the file that keeps them is not read. The function stands in for SCHEMA, quoted.
SELECT pg_catalog.count(*)
  FROM SCHEMA.pg_stat_statements(false) s
 WHERE s.dbid = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())
   AND s.queryid IS NULL
