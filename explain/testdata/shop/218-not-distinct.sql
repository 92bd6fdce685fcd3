-- name: not-distinct
-- shape: or2-distinct
-- sort: happened ASC, audit_id ASC
-- verdict: bad
-- types: timestamptz, uuid
-- args: $c1, $c2
-- cursor: SELECT happened, audit_id FROM audit ORDER BY happened, audit_id
-- note: the tie is written with IS NOT DISTINCT FROM
SELECT audit_id FROM audit
WHERE happened > $1 OR (happened IS NOT DISTINCT FROM $1 AND audit_id > $2)
ORDER BY happened, audit_id LIMIT 50;
