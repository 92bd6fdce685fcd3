-- name: lateral-cursor
-- shape: joined
-- sort: happened ASC, audit_id ASC
-- verdict: bad
-- types: uuid
-- args: $c2
-- cursor: SELECT happened, audit_id FROM audit ORDER BY happened, audit_id
-- note: the row of the cursor stands outside a LATERAL
SELECT page.* FROM (SELECT happened, audit_id FROM audit WHERE audit_id = $1) last
JOIN LATERAL (SELECT a.* FROM audit a WHERE a.happened > last.happened OR (a.happened = last.happened AND a.audit_id > last.audit_id)
              ORDER BY a.happened, a.audit_id LIMIT 40) page ON true;
