-- Relation locks that tell what waits for transactions are about: one streamed
-- pass over the lock table, for locks that nobody waits for are in no other reading.
-- Since 14. No privilege.
-- Parameters: $1 do not touch the lock manager while this many sessions queue
--   for its own latches; $2 pids whose write and row locks are wanted, and the
--   write locks of prepared transactions with them when there is one; $3 relations whose row
--   lockers are wanted; $4 pids that others may keep from a key: who writes to what
--   they write to is wanted.
-- Rows: as locks_graph.
with g as materialized (
  select pg_catalog.clock_timestamp() as ts,
         pg_catalog.count(*) filter (where a.wait_event = 'LockManager') as queuing,
         pg_catalog.count(*) filter (where a.wait_event_type = 'Lock') as waiting
  from pg_catalog.pg_stat_get_activity(null::int) a
),
l as materialized (
  select x.s
  from g, lateral (select pg_catalog.pg_lock_status() as s where g.queuing < $1::int offset 0) x
  where (x.s).granted and (x.s).locktype = 'relation' and (x.s).mode in ('RowShareLock', 'RowExclusiveLock')
)
select 0 as row, null::text as locktype, null::bigint as database, null::bigint as relation, null::int as page, null::int as tuple,
       null::text as virtualxid, null::text as transactionid, null::bigint as classid, null::bigint as objid, null::int as objsubid,
       null::text as vxid, g.queuing::int as pid, null::text as mode, null::boolean as granted, null::boolean as fastpath,
       (pg_catalog.date_part('epoch', g.ts) * 1e6)::bigint as t, g.waiting::int as waiting
from g
union all
select 1, (x.s).locktype, (x.s).database::bigint, (x.s).relation::bigint, (x.s).page, (x.s).tuple::int, (x.s).virtualxid,
       (x.s).transactionid::text, (x.s).classid::bigint, (x.s).objid::bigint, (x.s).objsubid::int, (x.s).virtualtransaction,
       (x.s).pid, (x.s).mode, (x.s).granted, (x.s).fastpath, null, null
from l x
where (x.s).mode = 'RowExclusiveLock' and (x.s).pid is null and pg_catalog.cardinality($2::int[]) > 0
   or (x.s).pid = any ($2::int[]) or (x.s).relation = any ($3::oid[])
   or (x.s).mode = 'RowExclusiveLock' and (x.s).relation in (select (y.s).relation from l y where (y.s).pid = any ($4::int[]) and (y.s).mode = 'RowExclusiveLock')
