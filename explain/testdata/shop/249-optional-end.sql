-- name: optional-end
-- shape: row
-- sort: happened ASC, audit_id ASC
-- verdict: good
-- types: timestamptz, timestamptz, uuid
-- args: '2030-01-01', $c1, $c2
-- cursor: SELECT happened, audit_id FROM audit ORDER BY happened, audit_id
-- note: the end of a window may be switched off
SELECT audit_id FROM audit WHERE ($1 IS NULL OR happened < $1) AND (happened, audit_id) > ($2, $3) ORDER BY happened, audit_id LIMIT 40;
