-- name: case-names
-- shape: case-plain
-- sort: total ASC, "Id" ASC
-- verdict: bad
-- types: numeric, bigint
-- args: $c1, $c2
-- cursor: SELECT total, "Id" FROM "Order" ORDER BY total, "Id"
SELECT "Id", total FROM "Order"
WHERE CASE WHEN total > $1 THEN 'after' WHEN total = $1 AND "Id" > $2 THEN 'after' ELSE 'before' END = 'after'
ORDER BY total, "Id" LIMIT 40;
