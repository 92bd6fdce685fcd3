-- name: case-of-what-is-before
-- shape: case-plain
-- sort: happened ASC, audit_id ASC
-- verdict: bad
-- types: timestamptz, uuid
-- args: $c1, $c2
-- cursor: SELECT happened, audit_id FROM audit ORDER BY happened, audit_id
-- note: without a cursor all rows are kept
SELECT audit_id FROM audit
WHERE CASE WHEN happened < $1 THEN 0 WHEN happened = $1 AND audit_id <= $2 THEN 0 ELSE 1 END = 1
ORDER BY happened, audit_id LIMIT 40;
