-- What a login's abilities depend on beyond the first statement's answer.
-- Since 13. No privilege. One row.
select pg_catalog.quote_ident(current_user) as "user",
       (select n.nspname::text from pg_catalog.pg_extension e
         join pg_catalog.pg_namespace n on n.oid = e.extnamespace where e.extname = 'pg_stat_statements') as statements_schema,
       exists (select from pg_catalog.pg_available_extensions a where a.name = 'pg_stat_statements') as statements_available,
       pg_catalog.current_setting('pg_stat_statements.max', true) is not null as statements_loaded,
       (select s.setting::bigint from pg_catalog.pg_settings s where s.name = 'track_activity_query_size') as query_size,
       pg_catalog.current_setting('track_activities') = 'on' as activities,
       pg_catalog.quote_ident(pg_catalog.current_database()) as "database"
