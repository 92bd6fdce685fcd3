-- name: among-nulls
-- shape: or-nulls
-- sort: rank DESC, audit_id DESC
-- verdict: bad
-- types: uuid
-- args: $c1
-- cursor: SELECT audit_id FROM audit WHERE rank IS NULL ORDER BY audit_id DESC
-- note: the cursor stands among the NULLs, a third of the rows, which come first
SELECT audit_id, rank FROM audit
WHERE (rank IS NULL AND audit_id < $1) OR rank IS NOT NULL
ORDER BY rank DESC, audit_id DESC LIMIT 40;
