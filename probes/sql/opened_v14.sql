-- How many sessions were ever opened in all databases, to tell churn from several readings.
-- Since 14. No privilege. One row; the time is in microseconds.
select pg_catalog.sum(d.sessions)::bigint as sessions,
       (pg_catalog.date_part('epoch', pg_catalog.clock_timestamp()) * 1e6)::bigint as ts
from pg_catalog.pg_stat_database d
