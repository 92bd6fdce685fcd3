-- name: not-row
-- shape: not-row
-- sort: happened ASC, audit_id ASC
-- verdict: bad
-- types: timestamptz, uuid
-- args: $c1, $c2
-- cursor: SELECT happened, audit_id FROM audit ORDER BY happened, audit_id
-- note: PostgreSQL leaves a NOT before a row comparison where it is
SELECT audit_id FROM audit WHERE NOT ((happened, audit_id) <= ($1, $2)) ORDER BY happened, audit_id LIMIT 40;
