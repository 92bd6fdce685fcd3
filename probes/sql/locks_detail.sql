-- Lock entries that explain known edges: all requests, the entries of given
-- blockers outside of the fast path, tuple locks, prepared transactions; and where
-- somebody waits for a relation, who keeps others from another one. One streamed pass: the cheapest there is on a large lock table.
-- Since 14. No privilege.
-- Parameters: $1 do not touch the lock manager while this many sessions queue
--   for its own latches; $2 pids that block a waiter for a relation; $3 pids that
--   block another waiter.
-- Rows: as locks_graph.
with g as materialized (
  select pg_catalog.clock_timestamp() as ts,
         pg_catalog.count(*) filter (where a.wait_event = 'LockManager') as queuing,
         pg_catalog.count(*) filter (where a.wait_event_type = 'Lock') as waiting
  from pg_catalog.pg_stat_get_activity(null::int) a
)
select 0 as row, null::text as locktype, null::bigint as database, null::bigint as relation, null::int as page, null::int as tuple,
       null::text as virtualxid, null::text as transactionid, null::bigint as classid, null::bigint as objid, null::int as objsubid,
       null::text as vxid, g.queuing::int as pid, null::text as mode, null::boolean as granted, null::boolean as fastpath,
       (pg_catalog.date_part('epoch', g.ts) * 1e6)::bigint as t, g.waiting::int as waiting
from g
union all
select 1, (x.s).locktype, (x.s).database::bigint, (x.s).relation::bigint, (x.s).page, (x.s).tuple::int, (x.s).virtualxid,
       (x.s).transactionid::text, (x.s).classid::bigint, (x.s).objid::bigint, (x.s).objsubid::int, (x.s).virtualtransaction,
       (x.s).pid, (x.s).mode, (x.s).granted, (x.s).fastpath,
       (pg_catalog.date_part('epoch', (x.s).waitstart) * 1e6)::bigint, null
from g, lateral (select pg_catalog.pg_lock_status() as s where g.queuing < $1::int offset 0) x
where (x.s).mode <> 'SIReadLock'
  and (not (x.s).granted or (x.s).pid is null or (x.s).locktype = 'tuple'
       or ((x.s).locktype = 'relation' and (x.s).relation >= 16384::oid and pg_catalog.cardinality($2::int[]) > 0
           and (x.s).mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock'))
       or (not (x.s).fastpath and (((x.s).locktype = 'relation' and (x.s).pid = any ($2::int[]))
                                or ((x.s).locktype <> 'relation' and (x.s).pid = any ($3::int[])))))
