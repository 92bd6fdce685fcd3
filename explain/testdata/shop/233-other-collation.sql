-- name: other-collation
-- shape: row-collation
-- sort: actor COLLATE "POSIX"
-- verdict: smell
-- types: text, uuid
-- args: $c1, $c2
-- cursor: SELECT actor, audit_id FROM audit ORDER BY actor, audit_id
-- note: sorted and compared under two collations
SELECT audit_id FROM audit
WHERE (actor COLLATE "POSIX", audit_id) > ($1, $2)
ORDER BY actor, audit_id LIMIT 50;
