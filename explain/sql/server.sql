-- What the EXPLAIN login is and may do. One row. PostgreSQL 14 and later. No privileges needed.
SELECT pg_catalog.current_setting('server_version_num')::int,
       pg_catalog.current_database()::text,
       current_user::text,
       pg_catalog.pg_is_in_recovery(),
       (SELECT r.rolsuper FROM pg_catalog.pg_roles r WHERE r.rolname = current_user),
       ARRAY(SELECT r.rolname::text FROM pg_catalog.pg_roles r
             WHERE r.rolname IN ('pg_execute_server_program', 'pg_write_server_files', 'pg_write_all_data')
               AND pg_catalog.pg_has_role(current_user, r.oid, 'MEMBER')
             ORDER BY 1),
       (SELECT n.nspname::text FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
         WHERE e.extname = 'hypopg')
