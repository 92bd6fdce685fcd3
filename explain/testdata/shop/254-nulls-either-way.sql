-- name: nulls-either-way
-- shape: or-nulls
-- sort: rank ASC, audit_id ASC
-- verdict: bad
-- types: int, uuid
-- args: $c1, $c2
-- cursor: SELECT rank, audit_id FROM audit ORDER BY rank, audit_id
-- note: one statement for a cursor with a rank and for one without
SELECT audit_id, rank FROM audit
WHERE ($1::int IS NOT NULL AND (rank > $1 OR (rank = $1 AND audit_id > $2) OR rank IS NULL))
   OR ($1::int IS NULL AND rank IS NULL AND audit_id > $2)
ORDER BY rank, audit_id LIMIT 40;
