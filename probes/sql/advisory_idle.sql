-- Session-level advisory locks of backends that are idle and in no transaction:
-- state that outlived its use, or was left on a pooler's connection.
-- Since 13. No privilege; other roles' rows need pg_read_all_stats, else none of
-- theirs come.
-- Rows: one a lock, oldest first. Times are microseconds.
select l.pid, (extract(epoch from a.backend_start) * 1000000)::bigint as backend_start,
       a.usesysid, a.datid, a.application_name as app,
       case when a.client_port = -1 then 'local' else pg_catalog.host(a.client_addr) end as addr, a.client_port as port,
       l.classid, l.objid, l.objsubid, l.mode,
       (extract(epoch from pg_catalog.clock_timestamp() - a.state_change) * 1000000)::bigint as idle
from pg_catalog.pg_lock_status() l
join pg_catalog.pg_stat_get_activity(null::int) a on a.pid = l.pid
where l.locktype = 'advisory' and l.granted and a.state = 'idle' and a.xact_start is null
order by a.state_change
limit 200
