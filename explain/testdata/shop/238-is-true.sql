-- name: is-true
-- shape: or2-is-true
-- sort: happened ASC, audit_id ASC
-- verdict: bad
-- types: timestamptz, uuid
-- args: $c1, $c2
-- cursor: SELECT happened, audit_id FROM audit ORDER BY happened, audit_id
SELECT audit_id FROM audit WHERE (happened > $1 OR (happened = $1 AND audit_id > $2)) IS TRUE ORDER BY happened, audit_id LIMIT 40;
