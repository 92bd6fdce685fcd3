-- name: update-batch
-- shape: or2
-- sort: happened ASC, audit_id ASC
-- verdict: bad
-- types: timestamptz, uuid
-- args: $c1, $c2
-- cursor: SELECT happened, audit_id FROM audit ORDER BY happened, audit_id
UPDATE audit SET rank = 0 WHERE audit_id IN (
  SELECT audit_id FROM audit WHERE happened > $1 OR (happened = $1 AND audit_id > $2)
  ORDER BY happened, audit_id LIMIT 200 FOR UPDATE SKIP LOCKED);
