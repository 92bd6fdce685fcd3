-- name: newest-of-each
-- shape: and-joined
-- sort: a.happened ASC
-- verdict: smell
-- types: timestamptz, text
-- args: $c1, $c2
-- cursor: SELECT happened, actor FROM audit ORDER BY happened
-- note: joined with the newest of each group, which is computed whole
SELECT a.audit_id FROM audit a
JOIN (SELECT actor, max(happened) AS newest FROM audit GROUP BY actor) n ON n.actor = a.actor AND n.newest = a.happened
WHERE a.happened >= $1 AND a.actor > $2
ORDER BY a.actor, a.happened LIMIT 20;
