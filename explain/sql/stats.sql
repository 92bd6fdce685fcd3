-- Values of one column as SQL literals: the most common one, a rare one, and those at the shares $4 of the ordered values.
-- One row, or none without statistics or without SELECT on the table. PostgreSQL 14 and later.
-- $1 schema, $2 relation, $3 column. The arrays are read as text, so any type with an input function will do.
SELECT pg_catalog.quote_literal((s.most_common_vals::text::text[])[1]),
       pg_catalog.quote_literal((s.most_common_vals::text::text[])[pg_catalog.cardinality(s.most_common_vals::text::text[])]),
       ARRAY(SELECT pg_catalog.quote_literal(h.b[1 + pg_catalog.round((pg_catalog.cardinality(h.b) - 1) * f)::int])
               FROM pg_catalog.unnest($4::float8[]) WITH ORDINALITY AS u(f, n) ORDER BY n)
  FROM pg_catalog.pg_stats s
 CROSS JOIN LATERAL (SELECT COALESCE(s.histogram_bounds::text::text[], s.most_common_vals::text::text[])) AS h(b)
 WHERE s.schemaname = $1 AND s.tablename = $2 AND s.attname = $3
 ORDER BY s.inherited DESC LIMIT 1
