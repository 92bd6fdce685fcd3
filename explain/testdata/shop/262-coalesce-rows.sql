-- name: coalesce-rows
-- shape: coalesce
-- sort: happened ASC, audit_id ASC
-- verdict: bad
-- types: timestamptz, uuid
-- args: $c1, $c2
-- cursor: SELECT happened, audit_id FROM audit ORDER BY happened, audit_id
SELECT audit_id FROM audit WHERE (happened, audit_id) > (coalesce($1, happened), coalesce($2, audit_id)) ORDER BY happened, audit_id LIMIT 40;
