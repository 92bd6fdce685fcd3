-- Transactions that may hold a CREATE INDEX CONCURRENTLY or REINDEX CONCURRENTLY
-- up: those with a snapshot in its database, or with a lock on its table.
-- Since 14. No privilege; without pg_read_all_stats other roles' rows come masked
-- and without their times.
-- Parameters: $1 do not touch the lock manager while this many sessions queue for
--   its own latches; $2 the command's pid; $3 its database; $4 its table, 0: who has
--   a snapshot is asked for; $5 1: any lock on the table is in the way, 0: those that
--   keep an index from being built; $6 own pids, left out; $7 1: also who has another
--   lock on the table; $8 1: also who has a snapshot in the database, but for
--   statements of under a second, which are as good as over.
-- Rows: pid, start of its transaction in microseconds since the epoch, whether it is in
--   the way; the oldest first, masked ones last; pid null for prepared transactions.
with a as materialized (
  select s.pid, s.datid, s.xact_start, s.backend_xmin as xmin, s.backend_type as kind, s.wait_event as wevent,
         s.state is not distinct from 'active' and s.query_start > pg_catalog.clock_timestamp() - interval '1 s' as brief
  from pg_catalog.pg_stat_get_activity(null::int) s
),
l as materialized (
  select (x.s).pid, pg_catalog.bool_or($5::int = 1 or (x.s).mode in
      ('RowExclusiveLock', 'ShareUpdateExclusiveLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')) as now
  from (select pg_catalog.pg_lock_status() as s
        where $4::oid <> 0 and (select pg_catalog.count(*) from a where a.wevent = 'LockManager') < $1::int offset 0) x
  where (x.s).granted and (x.s).locktype = 'relation' and (x.s).database = $3::oid and (x.s).relation = $4::oid
  group by (x.s).pid
)
select a.pid, (pg_catalog.date_part('epoch', a.xact_start) * 1e6)::bigint as t, coalesce(l.now, $4::oid = 0) as now
from a left join l on l.pid = a.pid
where a.pid <> $2::int and a.pid <> all ($6::int[])
  and (l.now or l.now is not null and $7::int = 1
       or ($4::oid = 0 or $8::int = 1 and not a.brief) and a.datid = $3::oid and a.xmin is not null and a.kind is distinct from 'autovacuum worker')
union all
select null, null, l.now from l where l.pid is null and (l.now or $7::int = 1)
order by 2, 1
limit 100
