-- Forgets what is known of column $2 of relation $1 (OID). PostgreSQL 14 and later. Superuser of a throw-away server only. No rows.
DELETE FROM pg_catalog.pg_statistic s
 WHERE s.starelid = $1::oid
   AND s.staattnum = (SELECT a.attnum FROM pg_catalog.pg_attribute a WHERE a.attrelid = $1::oid AND a.attname = $2 AND NOT a.attisdropped)
