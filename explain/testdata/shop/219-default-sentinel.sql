-- name: default-sentinel
-- shape: or2
-- sort: happened ASC, audit_id ASC
-- verdict: bad
-- types: timestamptz, uuid
-- args: $c1, $c2
-- cursor: SELECT happened, audit_id FROM audit ORDER BY happened, audit_id
-- note: the first page is a sentinel
SELECT audit_id FROM audit
WHERE happened > COALESCE($1, '-infinity') OR (happened = COALESCE($1, '-infinity') AND audit_id > $2)
ORDER BY happened, audit_id LIMIT 50;
