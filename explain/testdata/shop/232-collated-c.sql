-- name: collated-c
-- shape: or2
-- sort: actor ASC, audit_id ASC
-- verdict: bad
-- types: text, uuid
-- args: $c1, $c2
-- cursor: SELECT actor, audit_id FROM audit ORDER BY actor, audit_id
SELECT audit_id, actor FROM audit
WHERE actor > $1 OR (actor = $1 AND audit_id > $2)
ORDER BY 2, 1 LIMIT 50;
