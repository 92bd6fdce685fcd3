-- The text of one backend's query, up to 1 MB.
-- Since 13. No privilege; masked without pg_read_all_stats.
-- Parameters: $1 pid; $2 its backend_start in microseconds since the epoch.
-- One row, none when that backend is gone.
select s.datid, pg_catalog.substring(pg_catalog.textsend(s.query), 1, 1048576) as query
from pg_catalog.pg_stat_get_activity($1::int) s
where s.pid = $1::int
  and ($2::bigint <= 0 or (pg_catalog.date_part('epoch', s.backend_start) * 1e6)::bigint = $2::bigint)
