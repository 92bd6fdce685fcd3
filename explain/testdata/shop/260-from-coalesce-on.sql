-- name: from-coalesce-on
-- shape: coalesce
-- sort: happened ASC, audit_id ASC
-- verdict: bad
-- types: timestamptz
-- args: $c1
-- cursor: SELECT happened FROM audit ORDER BY happened
-- note: without a cursor all rows are kept
SELECT audit_id, happened FROM audit WHERE happened >= coalesce($1, happened) ORDER BY happened, audit_id LIMIT 40;
