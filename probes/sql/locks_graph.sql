-- Lock entries of contended objects, of one instant: every holder and waiter of
-- what somebody waits for, tuple locks (they name the row a waiter is after) and
-- the own xid of prepared transactions; and where somebody waits for a relation, who
-- keeps others from another one.
-- Since 14. No privilege.
-- Parameters: $1 do not touch the lock manager while this many sessions queue
--   for its own latches, 0: not asked, they were counted a moment ago; $2 1: keep
--   relation locks, 0: only if activity shows somebody who waits for one.
-- Rows: one of kind 0 (the time, those queuing), then one per entry. Times are
--   microseconds since the epoch.
-- Functions, not views; one call of pg_lock_status; activity is read only where a
-- parameter asks for it; relation locks, most of the table, are dropped before
-- they are kept unless somebody waits for one.
with g as materialized (
  select pg_catalog.count(*) filter (where a.wait_event = 'LockManager') as queuing,
         pg_catalog.count(*) filter (where a.wait_event_type = 'Lock' and a.wait_event = 'relation') as relation
  from pg_catalog.pg_stat_get_activity(null::int) a
),
l as materialized (
  select (x.s).*
  from (select pg_catalog.pg_lock_status() as s where $1::int = 0 or (select g.queuing from g) < $1::int offset 0) x
  where not (x.s).fastpath and (x.s).mode <> 'SIReadLock'
    and ((x.s).locktype <> 'relation' or not (x.s).granted or $2::int = 1 or (select g.relation from g) > 0)
),
w as (
  select distinct locktype, database, relation, page, tuple, virtualxid, transactionid, classid, objid, objsubid
  from l where not granted
),
k as (
  select l.* from w join l
    on coalesce(l.relation, l.objid, 0) = coalesce(w.relation, w.objid, 0)
   and coalesce(l.transactionid, '0'::xid) = coalesce(w.transactionid, '0'::xid)
   and l.locktype = w.locktype
   and l.virtualxid is not distinct from w.virtualxid and l.database is not distinct from w.database
   and l.relation is not distinct from w.relation and l.page is not distinct from w.page
   and l.tuple is not distinct from w.tuple and l.classid is not distinct from w.classid
   and l.objid is not distinct from w.objid and l.objsubid is not distinct from w.objsubid
  union all
  select l.* from l where l.granted and (l.locktype = 'tuple' or (l.pid is null and l.locktype = 'transactionid'))
  union all
  select l.* from l
  where l.granted and l.locktype = 'relation' and l.relation >= 16384::oid and l.mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
    and exists (select from w where w.locktype = 'relation')
    and (l.database, l.relation) not in (select w.database, w.relation from w where w.locktype = 'relation')
)
select 0 as row, null::text as locktype, null::bigint as database, null::bigint as relation, null::int as page, null::int as tuple,
       null::text as virtualxid, null::text as transactionid, null::bigint as classid, null::bigint as objid, null::int as objsubid,
       null::text as vxid, case when $1::int > 0 then (select g.queuing::int from g) end as pid, null::text as mode,
       null::boolean as granted, null::boolean as fastpath,
       (pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) * 1e6)::bigint as t
union all
select 1, k.locktype, k.database::bigint, k.relation::bigint, k.page, k.tuple::int, k.virtualxid, k.transactionid::text,
       k.classid::bigint, k.objid::bigint, k.objsubid::int, k.virtualtransaction, k.pid, k.mode, k.granted, k.fastpath,
       (pg_catalog.date_part('epoch', k.waitstart) * 1e6)::bigint
from k
