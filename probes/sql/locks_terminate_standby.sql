-- End a backend if it is still what the operator saw, on a standby.
-- As locks_terminate but for replay: who holds it up, the server does not say of a process
-- that is no backend, and the lock table does. On a standby only replay asks for
-- AccessExclusiveLock on a relation.
-- Since 14. Needs pg_signal_backend or membership in the target's role, and
-- pg_read_all_stats: a masked backend_start never matches.
-- Parameters: $1 pid; $2 backend_start, $3 xact_start (0: none), $4 query_start (0: not compared),
--   microseconds since the epoch; $5 a pid that must still wait for it, for a lock or
--   a safe snapshot, itself or through others, each of whom is asked once at most; 0: not asked;
--   $6 1: also what is no client's: a walsender, a launcher, an anti-wraparound vacuum.
-- One row: what was found, and whether a signal was sent. sent is null when not.
with recursive t as materialized (
  select a.pid, a.backend_type, a.usesysid,
         (pg_catalog.date_part('epoch', a.backend_start) * 1e6)::bigint = $2::bigint
         and coalesce((pg_catalog.date_part('epoch', a.xact_start) * 1e6)::bigint, 0) = $3::bigint
         and ($4::bigint = 0 or (pg_catalog.date_part('epoch', a.query_start) * 1e6)::bigint = $4::bigint) as same,
         $6::int = 1 or a.backend_type in ('client backend', 'parallel worker')
           or (a.backend_type = 'autovacuum worker' and pg_catalog."position"(pg_catalog.textsend(a.query), pg_catalog.textsend('(to prevent wraparound)')) = 0) as allowed
  from pg_catalog.pg_stat_get_activity($1::int) a
  where a.pid = $1::int and a.pid <> pg_catalog.pg_backend_pid()
),
l as materialized (
  select (x.s).database, (x.s).relation, (x.s).pid, (x.s).mode, (x.s).granted
  from (select pg_catalog.pg_lock_status() as s where pg_catalog.pg_is_in_recovery() offset 0) x
  where (x.s).locktype = 'relation'
),
replay as materialized (
  select w.pid, h.pid as holder
  from l w join l h on h.database = w.database and h.relation = w.relation
  where not w.granted and w.mode = 'AccessExclusiveLock' and h.granted and h.pid <> w.pid
),
up as (
  select pg_catalog.unnest(pg_catalog.pg_blocking_pids($5::int) || pg_catalog.pg_safe_snapshot_blocking_pids($5::int)
                           || (select pg_catalog.array_agg(r.holder) from replay r where r.pid = $5::int)) as pid
  union
  select pg_catalog.unnest(pg_catalog.pg_blocking_pids(up.pid) || pg_catalog.pg_safe_snapshot_blocking_pids(up.pid)
                           || (select pg_catalog.array_agg(r.holder) from replay r where r.pid = up.pid)) from up
)
select t.pid, t.backend_type, t.usesysid, t.same, t.allowed,
       case when t.same and t.allowed then
         case when $5::int = 0 or exists (select from up where up.pid = t.pid) then pg_catalog.pg_terminate_backend(t.pid) end
       end as sent,
       (pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) * 1e6)::bigint as ts
from t
