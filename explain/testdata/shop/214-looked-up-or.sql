-- name: looked-up-or
-- shape: or2
-- sort: happened ASC, audit_id ASC
-- verdict: bad
-- types: uuid
-- args: $c2
-- cursor: SELECT happened, audit_id FROM audit ORDER BY happened, audit_id
-- note: the values are looked up in a sub-select
SELECT audit_id, actor FROM audit
WHERE happened > (SELECT happened FROM audit WHERE audit_id = $1)
   OR (happened = (SELECT happened FROM audit WHERE audit_id = $1) AND audit_id > $1)
ORDER BY happened, audit_id LIMIT 50;
