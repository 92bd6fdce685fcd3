-- Who else is blocked, as the server says, among backends whose kind is hidden:
-- the leader of a parallel worker that waits is blocked without waiting itself.
-- Since 17, where a backend's number tells a client's from a worker: those of clients
-- are below max_connections. No privilege.
-- Parameters: $1 do not touch the lock manager while this many sessions queue
--   for its own latches; $2 pids known to wait; $3 backends to ask at most.
-- Rows: one of kind 0 (those queuing), then one per backend with the same user
--   and database as one of $2, and what blocks it; and one per pid of $2, without.
with a as materialized (
  select s.pid, s.datid, s.usesysid, s.backend_type, s.wait_event
  from pg_catalog.pg_stat_get_activity(null::int) s
),
g as materialized (
  select pg_catalog.count(*) filter (where a.wait_event = 'LockManager') as queuing from a
),
n as materialized (
  select pg_catalog.pg_stat_get_backend_pid(i) as pid, i < pg_catalog.current_setting('max_connections')::int as is_client
  from pg_catalog.pg_stat_get_backend_idset() i
),
c as materialized (
  select a.pid from a
  where a.backend_type is null and a.pid <> all ($2::int[])
    and (a.datid, a.usesysid) in (select w.datid, w.usesysid from a w where w.pid = any ($2::int[]) and w.backend_type is null and w.usesysid <> 0)
  order by a.pid
  limit $3::int
)
select 0 as row, g.queuing::int as pid, null::text as blockers, null::boolean as is_client from g
union all
select 1, n.pid, null, n.is_client from n where n.pid = any ($2::int[])
union all
select 1, b.pid, b.by::text, (select pg_catalog.bool_or(n.is_client) from n where n.pid = b.pid)
from (select c.pid, pg_catalog.pg_blocking_pids(c.pid) as by from c where (select g.queuing from g) < $1::int offset 0) b
where pg_catalog.cardinality(b.by) > 0
