-- name: coalesce-and-tie
-- shape: coalesce
-- sort: happened DESC, audit_id DESC
-- verdict: bad
-- types: timestamptz, uuid
-- args: $c1, $c2
-- cursor: SELECT happened, audit_id FROM audit ORDER BY happened DESC, audit_id DESC
SELECT audit_id, happened FROM audit
WHERE happened < COALESCE($1, happened) OR (happened = COALESCE($1, happened) AND audit_id <= COALESCE($2, audit_id))
ORDER BY happened DESC, audit_id DESC LIMIT 40;
