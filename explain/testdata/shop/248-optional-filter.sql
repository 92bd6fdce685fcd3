-- name: optional-filter
-- shape: row
-- sort: happened ASC, audit_id ASC
-- verdict: good
-- types: text, timestamptz, uuid
-- args: 'actor 000100', $c1, $c2
-- cursor: SELECT happened, audit_id FROM audit ORDER BY happened, audit_id
-- note: the filter may be switched off, the cursor not
SELECT audit_id FROM audit WHERE ($1 IS NULL OR actor = $1) AND (happened, audit_id) > ($2, $3) ORDER BY happened, audit_id LIMIT 40;
