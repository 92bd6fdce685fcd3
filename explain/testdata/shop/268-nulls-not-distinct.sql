-- name: nulls-not-distinct
-- shape: or-nulls
-- sort: rank ASC, audit_id ASC
-- verdict: bad
-- types: int, uuid
-- args: $c1, $c2
-- cursor: SELECT rank, audit_id FROM audit ORDER BY rank, audit_id
SELECT audit_id, rank FROM audit
WHERE rank IS NOT DISTINCT FROM $1 AND audit_id > $2 OR rank > $1 OR rank IS NULL AND $1 IS NOT NULL
ORDER BY rank, audit_id LIMIT 40;
