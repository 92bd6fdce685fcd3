-- name: newer-than-coalesce
-- shape: coalesce
-- sort: happened ASC, audit_id ASC
-- verdict: bad
-- types: timestamptz
-- args: $c1
-- cursor: SELECT happened FROM audit ORDER BY happened
SELECT audit_id, happened FROM audit WHERE happened > coalesce($1, happened) ORDER BY happened, audit_id LIMIT 40;
