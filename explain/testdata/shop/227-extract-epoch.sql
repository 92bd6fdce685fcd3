-- name: extract-epoch
-- shape: row-expression
-- sort: extract(epoch FROM happened) ASC, audit_id ASC
-- verdict: smell
-- types: numeric, uuid
-- args: $c1, $c2
-- cursor: SELECT extract(epoch FROM happened), audit_id FROM audit ORDER BY 1, 2
SELECT audit_id FROM audit
WHERE (extract(epoch FROM happened), audit_id) > ($1, $2)
ORDER BY extract(epoch FROM happened), audit_id LIMIT 40;
