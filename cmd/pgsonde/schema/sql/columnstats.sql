-- Writes what is known of column $2 of relation $1 (OID): n_distinct $3, share of NULLs $4, nothing else; also of its partitions
-- of which nothing is known. PostgreSQL 14 and later. Superuser of a throw-away server only. One row: is there such a column.
WITH target AS (
  SELECT a.attrelid, a.attnum, c.relkind = 'p' AS inherit
    FROM pg_catalog.pg_attribute a
    JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
   WHERE a.attname = $2 AND NOT a.attisdropped
     AND (a.attrelid = $1::oid OR a.attrelid IN (SELECT t.relid FROM pg_catalog.pg_partition_tree($1::oid) t))),
written AS (
  INSERT INTO pg_catalog.pg_statistic (starelid, staattnum, stainherit, stadistinct, stanullfrac, stawidth,
    stakind1, stakind2, stakind3, stakind4, stakind5, staop1, staop2, staop3, staop4, staop5, stacoll1, stacoll2, stacoll3, stacoll4, stacoll5)
  SELECT t.attrelid, t.attnum, t.inherit, $3::float4, $4::float4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
    FROM target t
   WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_statistic s WHERE s.starelid = t.attrelid AND s.staattnum = t.attnum))
SELECT EXISTS (SELECT FROM target)
