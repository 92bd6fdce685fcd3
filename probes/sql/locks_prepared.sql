-- Prepared transactions. Since 13. No privilege. Microseconds since the epoch.
-- The function: the view would look into shared catalogs.
select p.transaction::text as xid, p.gid, (pg_catalog.date_part('epoch', p.prepared) * 1e6)::bigint as t, p.ownerid, p.dbid
from pg_catalog.pg_prepared_xact() p
