-- How far VACUUM, CREATE INDEX and REINDEX, CLUSTER and VACUUM FULL are.
-- Since 13. No privilege; other roles' rows come without figures unless
-- pg_read_all_stats. One row per command; the parameters are as in the views
-- pg_stat_progress_vacuum, …_create_index and …_cluster.
select 'VACUUM' as what, v.pid, v.datid, v.relid, v.param1 as a, v.param2 as b, v.param3 as c, 0::bigint as d, 0::bigint as e,
       0::bigint as f, 0::bigint as h
from pg_catalog.pg_stat_get_progress_info('VACUUM') v
union all
select 'INDEX', i.pid, i.datid, i.relid, i.param10, i.param16, i.param17, i.param4, i.param5, i.param6, i.param1
from pg_catalog.pg_stat_get_progress_info('CREATE INDEX') i
union all
select 'CLUSTER', c.pid, c.datid, c.relid, c.param2, c.param6, c.param7, 0, 0, 0, c.param1
from pg_catalog.pg_stat_get_progress_info('CLUSTER') c
