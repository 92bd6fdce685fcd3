-- The one message of a tick: who is there, read once, so that all rows agree.
-- Since 13. No privilege; without pg_read_all_stats other roles' rows come masked.
-- Parameters: $1 own pids, counted in the first row only; $2 session rows: 0 none, 1 client backends,
--   2 all; $3 rows at most; $4 bytes of query text; $5 a pid whose text comes with
--   up to 1 MB, 0 none.
-- Rows: one of kind 0 (the server), then 1 (groups), then 2 (sessions, oldest
--   first). Times are microseconds, ages are microseconds.
-- The function and not the view: pg_stat_activity joins shared catalogs, whose
-- locks a lock storm holds up for half a minute; the function takes none.
-- The function is most of the cost: what is made of its rows is made of groups, and
-- of texts only where sessions are asked for.
-- textsend: bytes, whatever the encoding of the session that wrote them.
with a as materialized (
  select s.pid = any ($1::int[]) or s.pid = pg_catalog.pg_backend_pid() as own, s.pid, s.datid, s.usesysid, s.application_name as app,
         case when s.backend_type is not null then s.backend_type
              when s.datid <> 0 and s.usesysid <> 0 then 'masked'
              else 'masked-system' end as kind,
         s.client_addr as addr, s.client_port = -1 as local, s.client_port as port, s.state, s.wait_event_type as wtype, s.wait_event as wevent,
         case when s.state = 'active' then
           case when s.wait_event_type = 'Lock' then 'lock'
                when s.wait_event_type = 'Client' then 'client'
                when s.wait_event_type is null or s.wait_event_type in ('IO', 'LWLock', 'BufferPin', 'Buffer') then 'run'
                else 'other' end end as act,
         s.backend_start, s.xact_start, s.query_start, s.state_change,
         s.backend_xid as xid, s.backend_xmin as xmin, s.leader_pid as leader,
         case when $2::int > 0 or s.pid = $5::int then
           pg_catalog.substring(pg_catalog.textsend(s.query), 1, case when s.pid = $5::int then 1048576 else $4::int end)
         end as query,
         case when $2::int > 0 or s.pid = $5::int then pg_catalog.octet_length(s.query) end as size
  from pg_catalog.pg_stat_get_activity(null::int) s
),
n as materialized (
  select pg_catalog.clock_timestamp() as ts,
         pg_catalog.count(*) filter (where not a.own and ($2::int = 2 or a.kind in ('client backend', 'masked'))) as total,
         pg_catalog.count(*) filter (where a.wtype = 'Lock' or a.wevent = 'SafeSnapshot') as waiting,
         pg_catalog.array_agg(a.pid) filter (where a.own) as own
  from a
)
select 0 as row, n.total::bigint as n, null::int as pid, null::oid as datid, null::oid as usesysid,
       n.own::text as kind, null::text as app, null::text as addr, null::int as port, null::text as state, null::text as act,
       null::text as wtype, null::text as wevent,
       (pg_catalog.date_part('epoch', n.ts) * 1e6)::bigint as t1,
       (pg_catalog.date_part('epoch', pg_catalog.pg_postmaster_start_time()) * 1e6)::bigint as t2,
       (pg_catalog.date_part('epoch', pg_catalog.pg_conf_load_time()) * 1e6)::bigint as t3,
       case when pg_catalog.pg_is_in_recovery() then 1 else 0 end::bigint as t4,
       n.waiting::bigint as t5, null::bigint as t6,
       null::text as xid, null::text as xmin, null::int as leader, null::bytea as query, null::int as size, false as full_text
from n
union all
(select 1, g.n, null, g.datid, g.usesysid, g.kind, g.app,
       case when g.local then 'local' else pg_catalog.host(g.addr) end, null, g.state, g.act, null, null,
       (pg_catalog.date_part('epoch', g.oldest) * 1e6)::bigint,
       (pg_catalog.date_part('epoch', g.newest) * 1e6)::bigint,
       (pg_catalog.date_part('epoch', n.ts - g.xact) * 1e6)::bigint,
       (pg_catalog.date_part('epoch', n.ts - g.query) * 1e6)::bigint,
       (pg_catalog.date_part('epoch', n.ts - g.change) * 1e6)::bigint,
       (pg_catalog.date_part('epoch', n.ts - g.wait) * 1e6)::bigint,
       null, null, null, null, null, null
from n, (
  select pg_catalog.count(*) as n, a.datid, a.usesysid, a.kind, a.app, a.addr, a.local, a.state, a.act,
         pg_catalog.min(a.backend_start) as oldest, pg_catalog.max(a.backend_start) as newest, pg_catalog.min(a.xact_start) as xact,
         pg_catalog.min(a.query_start) filter (where a.state = 'active') as query, pg_catalog.min(a.state_change) as change,
         pg_catalog.min(a.query_start) filter (where a.wtype = 'Lock') as wait
  from a
  where not a.own
  group by a.datid, a.usesysid, a.kind, a.app, a.addr, a.local, a.state, a.act
) g)
union all
(select 2, null, a.pid, a.datid, a.usesysid, a.kind, a.app,
       case when a.local then 'local' else pg_catalog.host(a.addr) end, a.port, a.state, a.act, a.wtype, a.wevent,
       (pg_catalog.date_part('epoch', a.backend_start) * 1e6)::bigint,
       (pg_catalog.date_part('epoch', a.xact_start) * 1e6)::bigint,
       (pg_catalog.date_part('epoch', a.query_start) * 1e6)::bigint,
       (pg_catalog.date_part('epoch', a.state_change) * 1e6)::bigint,
       null, null, a.xid::text, a.xmin::text, a.leader, a.query, a.size, a.pid = $5::int
from a
where ($2::int > 0 or $5::int <> 0)
  and (a.pid = $5::int or (not a.own and $2::int > 0 and ($2::int = 2 or a.kind in ('client backend', 'masked'))))
order by a.pid = $5::int desc, a.backend_start nulls last, a.pid
limit $3::int)
