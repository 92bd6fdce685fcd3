-- Who waits for whom as the server itself says, and what is known of them.
-- Since 14. No privilege; without pg_read_all_stats other roles' rows come masked.
-- Parameters: $1 do not touch the lock manager while this many sessions queue
--   for its own latches; $2 waiters to ask for at most, the longest in their state
--   first; $3 pids to ask for besides; $4 pids to describe besides; $5 bytes of
--   query text; $6 own pids, left out.
-- Rows: one of kind 0 (the time, those queuing, those waiting), then one per
--   backend that waits, blocks, is a parallel worker of one that does, or was
--   named. Blockers is null for who was not asked for. Microseconds since the epoch.
-- pg_blocking_pids copies only the one lock a pid waits for, not the table.
with a as materialized (
  select s.pid, s.datid, s.usesysid, s.application_name as app, s.backend_type as kind, s.leader_pid as leader, s.state,
         case when s.client_port = -1 then 'local' else pg_catalog.host(s.client_addr) end as addr, s.client_port as port,
         s.wait_event_type as wtype, s.wait_event as wevent, s.backend_start, s.xact_start, s.query_start, s.state_change,
         s.backend_xid as xid, s.backend_xmin as xmin, s.query
  from pg_catalog.pg_stat_get_activity(null::int) s
  where s.pid <> all ($6::int[])
),
g as materialized (
  select pg_catalog.clock_timestamp() as ts,
         pg_catalog.count(*) filter (where a.wevent = 'LockManager') as queuing,
         pg_catalog.count(*) filter (where a.wtype = 'Lock') as waiting
  from a
),
o as (
  select a.pid from a where a.wtype = 'Lock' order by a.state_change nulls first limit $2::int
),
e as materialized (
  select q.pid, case when g.queuing < $1::int then pg_catalog.pg_blocking_pids(q.pid) end as blockers
  from g, (select o.pid from o union select pg_catalog.unnest($3::int[])) q
),
b as materialized (
  select e.pid from e union select pg_catalog.unnest(e.blockers) from e union select pg_catalog.unnest($4::int[])
)
select 0 as row, g.queuing::int as pid, null::oid as datid, null::oid as usesysid, null::text as app, null::text as kind,
       null::int as leader, null::text as state, null::text as addr, null::int as port, null::text as wtype, null::text as wevent,
       (pg_catalog.date_part('epoch', g.ts) * 1e6)::bigint as t1, null::bigint as t2, null::bigint as t3, null::bigint as t4,
       null::text as xid, null::text as xmin, g.waiting::int as size, null::bytea as query, null::text as blockers,
       null::text as safe
from g
union all
select 1, coalesce(a.pid, e.pid), a.datid, a.usesysid, a.app,
       case when a.kind is not null or a.pid is null then a.kind
            when a.datid <> 0 and a.usesysid <> 0 then 'masked'
            else 'masked-system' end,
       a.leader, a.state, a.addr, a.port, a.wtype, a.wevent,
       (pg_catalog.date_part('epoch', a.backend_start) * 1e6)::bigint, (pg_catalog.date_part('epoch', a.xact_start) * 1e6)::bigint,
       (pg_catalog.date_part('epoch', a.query_start) * 1e6)::bigint, (pg_catalog.date_part('epoch', a.state_change) * 1e6)::bigint,
       a.xid::text, a.xmin::text, pg_catalog.octet_length(a.query), pg_catalog.substring(pg_catalog.textsend(a.query), 1, $5::int),
       e.blockers::text,
       case when a.wevent = 'SafeSnapshot' then pg_catalog.pg_safe_snapshot_blocking_pids(a.pid)::text end
from a full join e on e.pid = a.pid
where e.pid is not null or a.wtype = 'Lock' or a.wevent = 'SafeSnapshot' or a.pid in (select b.pid from b)
   or (a.kind = 'parallel worker' and a.leader in (select b.pid from b))
