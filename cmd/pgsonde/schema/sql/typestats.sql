-- Writes of each column of which nothing is known how many values its type has, where they are few: an enum's labels, a boolean's
-- two. NULLs are the planner's usual share. PostgreSQL 14 and later. Superuser of a throw-away server only. No rows.
WITH RECURSIVE typed AS ( -- of a domain the type below it
  SELECT a.attrelid, a.attnum, a.attnotnull, c.relkind = 'p' AS inherit, t.oid, t.typtype, t.typbasetype
    FROM pg_catalog.pg_attribute a
    JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
   WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'm', 'f') AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
   UNION ALL
  SELECT d.attrelid, d.attnum, d.attnotnull, d.inherit, t.oid, t.typtype, t.typbasetype
    FROM typed d
    JOIN pg_catalog.pg_type t ON t.oid = d.typbasetype
   WHERE d.typtype = 'd'),
few AS (
  SELECT t.attrelid, t.attnum, t.attnotnull, t.inherit,
         CASE WHEN t.typtype = 'e' THEN (SELECT pg_catalog.count(*) FROM pg_catalog.pg_enum e WHERE e.enumtypid = t.oid) ELSE 2 END AS labels
    FROM typed t
   WHERE t.typtype = 'e' OR t.oid = 'pg_catalog.bool'::regtype)
INSERT INTO pg_catalog.pg_statistic (starelid, staattnum, stainherit, stadistinct, stanullfrac, stawidth,
  stakind1, stakind2, stakind3, stakind4, stakind5, staop1, staop2, staop3, staop4, staop5, stacoll1, stacoll2, stacoll3, stacoll4, stacoll5)
SELECT f.attrelid, f.attnum, f.inherit, f.labels, CASE WHEN f.attnotnull THEN 0 ELSE 0.005 END, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
  FROM few f
 WHERE f.labels > 0
   AND NOT EXISTS (SELECT FROM pg_catalog.pg_statistic s WHERE s.starelid = f.attrelid AND s.staattnum = f.attnum)
