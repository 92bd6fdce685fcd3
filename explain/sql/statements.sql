-- The statements of this database that cost most time, worst first. PostgreSQL 14 and later, pg_stat_statements 1.8 and later.
-- Texts of other users need pg_read_all_stats; without it they are left out. The view stands in for SCHEMA, quoted.
-- So are those about the catalogs, which are ours, psql's and the foreign keys'. $1 how many. One row a statement and role. The settings are those the role has in this database, most specific first.
SELECT s.queryid, s.query, r.rolname::text, s.calls, s.total_exec_time::float8, s.rows, s.shared_blks_hit + s.shared_blks_read,
       COALESCE((SELECT pg_catalog.substr(c, 13)
                   FROM pg_catalog.pg_db_role_setting d, pg_catalog.unnest(d.setconfig) c
                  WHERE c LIKE 'search\_path=%'
                    AND (d.setdatabase = s.dbid AND d.setrole = s.userid OR d.setdatabase = 0 AND d.setrole = s.userid
                      OR d.setdatabase = s.dbid AND d.setrole = 0)
                  ORDER BY d.setrole = 0, d.setdatabase = 0 LIMIT 1),
                (SELECT p.reset_val FROM pg_catalog.pg_settings p WHERE p.name = 'search_path'))
  FROM SCHEMA.pg_stat_statements s
  JOIN pg_catalog.pg_roles r ON r.oid = s.userid
 WHERE s.dbid = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database())
   AND s.query IS NOT NULL AND s.query <> '<insufficient privilege>'
   AND s.query ~* '^(\s|\(|--[^\n]*\n|/\*([^*]|\*+[^*/])*\*+/)*(select|with|values|table|prepare|declare|delete|update)\M'
   AND s.query !~ 'pg_stat_statements|pg_stat_get_activity|pgsonde|\mpg_catalog\.'
 ORDER BY s.total_exec_time DESC
 LIMIT $1
