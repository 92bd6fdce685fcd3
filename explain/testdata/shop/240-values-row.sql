-- name: values-row
-- shape: joined
-- sort: happened ASC, audit_id ASC
-- verdict: bad
-- types: timestamptz, uuid
-- args: $c1, $c2
-- cursor: SELECT happened, audit_id FROM audit ORDER BY happened, audit_id
-- note: the parameters come as a row of their own
SELECT a.audit_id FROM audit a CROSS JOIN (VALUES ($1::timestamptz, $2::uuid)) AS last(at, id)
WHERE a.happened > last.at OR (a.happened = last.at AND a.audit_id > last.id)
ORDER BY a.happened, a.audit_id LIMIT 40;
