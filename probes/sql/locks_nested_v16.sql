-- Who has subtransactions with a transaction id, open ones and those released.
-- Since 16. No privilege.
-- Parameters: $1 pids to look at.
-- Rows: a pid each. A savepoint below which nothing was written does not show.
select b.pid
from (select pg_catalog.pg_stat_get_backend_pid(i.id) as pid, i.id from pg_catalog.pg_stat_get_backend_idset() i(id)) b,
     lateral pg_catalog.pg_stat_get_backend_subxact(b.id) s
where b.pid in (select pg_catalog.unnest($1::int[])) and s.subxact_count > 0
