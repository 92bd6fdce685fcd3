-- Who waits for whom as the server itself says, and what is known of them.
-- Since 14. No privilege; without pg_read_all_stats other roles' rows come masked.
-- Parameters: $1 do not touch the lock manager while this many sessions queue
--   for its own latches; $2 waiters to ask for at most, the longest in their state
--   first; $3 pids to ask for besides; $4 pids to describe besides; $5 bytes of
--   query text; $6 own pids, left out.
-- Rows: one of kind 0 (the time, those queuing, those waiting), then one per
--   backend that waits, is a parallel worker or was named, and one for each named
--   pid that activity does not show. Blockers is null for who was not asked for.
--   Microseconds since the epoch.
-- pg_blocking_pids copies only the one lock a pid waits for, not the table. Its
-- answers grow with the square of a queue: nothing here goes through them. Rows
-- that nobody needs are dropped before they are kept.
with a as materialized (
  select s.pid, s.datid, s.usesysid, s.application_name as app, s.backend_type as kind, s.leader_pid as leader, s.state,
         s.client_addr as addr, s.client_port as port, s.wait_event_type as wtype, s.wait_event as wevent,
         s.backend_start, s.xact_start, s.query_start, s.state_change, s.backend_xid as xid, s.backend_xmin as xmin, s.query
  from pg_catalog.pg_stat_get_activity(null::int) s
  where (s.wait_event_type = 'Lock' or s.wait_event in ('LockManager', 'SafeSnapshot') or s.backend_type = 'parallel worker'
         or s.pid in (select pg_catalog.unnest($3::int[])) or s.pid in (select pg_catalog.unnest($4::int[])))
    and s.pid <> all ($6::int[])
),
g as materialized (
  select pg_catalog.clock_timestamp() as ts,
         pg_catalog.count(*) filter (where a.wevent = 'LockManager') as queuing,
         pg_catalog.count(*) filter (where a.wtype = 'Lock') as waiting
  from a
)
select 0 as row, g.queuing::int as pid, null::oid as datid, null::oid as usesysid, null::text as app, null::text as kind,
       null::int as leader, null::text as state, null::text as addr, null::int as port, null::text as wtype, null::text as wevent,
       (pg_catalog.date_part('epoch', g.ts) * 1e6)::bigint as t1, null::bigint as t2, null::bigint as t3, null::bigint as t4,
       null::text as xid, null::text as xmin, g.waiting::int as size, null::bytea as query, null::text as blockers,
       null::text as safe
from g
union all
select 1, a.pid, a.datid, a.usesysid, a.app,
       case when a.kind is not null then a.kind
            when a.datid <> 0 and a.usesysid <> 0 then 'masked'
            else 'masked-system' end,
       a.leader, a.state, case when a.port = -1 then 'local' else pg_catalog.host(a.addr) end, a.port, a.wtype, a.wevent,
       (pg_catalog.date_part('epoch', a.backend_start) * 1e6)::bigint, (pg_catalog.date_part('epoch', a.xact_start) * 1e6)::bigint,
       (pg_catalog.date_part('epoch', a.query_start) * 1e6)::bigint, (pg_catalog.date_part('epoch', a.state_change) * 1e6)::bigint,
       a.xid::text, a.xmin::text, pg_catalog.octet_length(a.query), pg_catalog.substring(pg_catalog.textsend(a.query), 1, $5::int),
       case when a.pid in (select pg_catalog.unnest($3::int[]))
              or ($2::int > 0 and a.wtype = 'Lock' and (a.state_change is null or a.state_change <= (
                    select pg_catalog.max(o.state_change)
                    from (select a.state_change from a where a.wtype = 'Lock' order by a.state_change limit $2::int) o)))
       then case when (select g.queuing from g) < $1::int then pg_catalog.pg_blocking_pids(a.pid)::text end end,
       case when a.wevent = 'SafeSnapshot' then pg_catalog.pg_safe_snapshot_blocking_pids(a.pid)::text end
from a
where a.wtype = 'Lock' or a.wevent = 'SafeSnapshot' or a.kind = 'parallel worker'
   or a.pid in (select pg_catalog.unnest($3::int[])) or a.pid in (select pg_catalog.unnest($4::int[]))
union all
select 1, p.pid, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null, null,
       case when (select g.queuing from g) < $1::int then pg_catalog.pg_blocking_pids(p.pid)::text end, null
from (select pg_catalog.unnest($3::int[]) as pid) p
where p.pid not in (select a.pid from a)
