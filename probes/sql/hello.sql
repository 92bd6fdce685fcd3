-- Who answers and who we are: the first statement of every connection.
-- Since 13. No privilege. One row.
select pg_catalog.pg_backend_pid() as pid,
       pg_catalog.current_setting('server_version_num')::int as version_num,
       pg_catalog.current_setting('server_version') as version,
       pg_catalog.pg_is_in_recovery() as in_recovery,
       pg_catalog.current_setting('default_transaction_read_only') = 'on' as read_only,
       (pg_catalog.date_part('epoch', pg_catalog.pg_postmaster_start_time()) * 1e6)::bigint as started,
       current_user::text as "user",
       pg_catalog.current_database()::text as "database",
       d.oid as database_oid,
       pg_catalog.pg_encoding_to_char(d.encoding)::text as encoding,
       r.rolsuper as superuser,
       pg_catalog.pg_has_role(r.oid, 'pg_read_all_stats', 'USAGE') as reads_all,
       pg_catalog.pg_has_role(r.oid, 'pg_signal_backend', 'USAGE') as signals,
       r.rolsuper or exists (select from pg_catalog.pg_roles u where u.rolname = 'pg_use_reserved_connections'
         and pg_catalog.pg_has_role(r.oid, u.oid, 'USAGE')) as reserved,
       (select c.system_identifier from pg_catalog.pg_control_system() c) as system_identifier
from pg_catalog.pg_roles r, pg_catalog.pg_database d
where r.rolname = current_user and d.datname = pg_catalog.current_database()
