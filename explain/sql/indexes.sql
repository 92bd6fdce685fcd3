-- The indexes of relations $1 (OIDs), one row each, with their key columns. PostgreSQL 14 and later. No privileges needed.
-- Arrays run over the key columns. A collation is named only where it is not the column's own.
SELECT x.indrelid::bigint, i.relname::text, am.amname::text, x.indisunique, x.indisvalid, x.indisprimary,
       COALESCE(pg_catalog.pg_get_expr(x.indpred, x.indrelid), ''), i.relpages::float8,
       ARRAY(SELECT pg_catalog.pg_get_indexdef(x.indexrelid, k, false)
               FROM pg_catalog.generate_series(1, x.indnkeyatts) k ORDER BY k),
       ARRAY(SELECT COALESCE(a.attname, '')::text
               FROM pg_catalog.generate_series(1, x.indnkeyatts) k
               LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[k - 1] AND a.attnum > 0
              ORDER BY k),
       ARRAY(SELECT (x.indoption[k - 1] & 1) = 1 FROM pg_catalog.generate_series(1, x.indnkeyatts) k ORDER BY k),
       ARRAY(SELECT (x.indoption[k - 1] & 2) = 2 FROM pg_catalog.generate_series(1, x.indnkeyatts) k ORDER BY k),
       ARRAY(SELECT CASE WHEN x.indcollation[k - 1] = 0 OR x.indcollation[k - 1] = a.attcollation
                           OR a.attname IS NULL AND x.indcollation[k - 1] = 'pg_catalog."default"'::pg_catalog.regcollation THEN ''
                         ELSE COALESCE((SELECT co.collname FROM pg_catalog.pg_collation co WHERE co.oid = x.indcollation[k - 1]), '') END::text
               FROM pg_catalog.generate_series(1, x.indnkeyatts) k
               LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = x.indkey[k - 1] AND a.attnum > 0
              ORDER BY k),
       ARRAY(SELECT CASE WHEN oc.opcdefault THEN '' ELSE oc.opcname END::text
               FROM pg_catalog.generate_series(1, x.indnkeyatts) k
               JOIN pg_catalog.pg_opclass oc ON oc.oid = x.indclass[k - 1] ORDER BY k)
  FROM pg_catalog.pg_index x
  JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid
  JOIN pg_catalog.pg_am am ON am.oid = i.relam
 WHERE x.indrelid = ANY ($1::bigint[]::oid[])
 ORDER BY x.indrelid, i.relname
