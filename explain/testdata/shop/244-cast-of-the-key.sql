-- name: cast-of-the-key
-- shape: or2-hidden
-- sort: happened ASC, audit_id ASC
-- verdict: smell
-- types: date, uuid
-- args: $c1, $c2
-- cursor: SELECT happened::date, audit_id FROM audit ORDER BY happened, audit_id
-- note: sorted by the column, compared under a cast
SELECT audit_id FROM audit WHERE happened::date > $1 OR (happened::date = $1 AND audit_id > $2) ORDER BY happened, audit_id LIMIT 40;
