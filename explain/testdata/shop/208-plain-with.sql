-- name: plain-with
-- shape: or2
-- sort: happened ASC, audit_id ASC
-- verdict: bad
-- types: timestamptz, uuid
-- args: $c1, $c2
-- cursor: SELECT happened, audit_id FROM audit ORDER BY happened, audit_id
-- note: a WITH query that is folded in
WITH logins AS (SELECT audit_id, happened, actor FROM audit WHERE detail ->> 'kind' <> '4')
SELECT * FROM logins
WHERE happened > $1 OR (happened = $1 AND audit_id > $2)
ORDER BY happened, audit_id LIMIT 50;
