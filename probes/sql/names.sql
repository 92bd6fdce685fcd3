-- Names, limits and encodings by oid, so that a tick needs no shared catalog.
-- Since 13. No privilege. A row per role (kind 0) and database (kind 1). member:
-- this login may act as the role, and so end its sessions.
select 0 as kind, r.oid, r.rolname::text as name, r.rolconnlimit as conn_limit, null::text as encoding,
       r.rolcanlogin as login, r.rolsuper as superuser, r.rolreplication as replication,
       not r.rolsuper and r.rolcanlogin and exists (select from pg_catalog.pg_roles u
         where u.rolname = 'pg_use_reserved_connections' and pg_catalog.pg_has_role(r.oid, u.oid, 'USAGE')) as reserved,
       pg_catalog.pg_has_role(r.oid, 'USAGE') as member
from pg_catalog.pg_roles r
union all
select 1, d.oid, d.datname::text, d.datconnlimit, pg_catalog.pg_encoding_to_char(d.encoding)::text,
       d.datallowconn, false, false, false, false
from pg_catalog.pg_database d
