-- name: two-parts
-- shape: single-part
-- sort: total ASC, "Id" ASC
-- verdict: good
-- types: numeric, bigint
-- args: $c1, $c2
-- cursor: SELECT total, "Id" FROM "Order" ORDER BY total, "Id"
-- note: ties and the rest in two parts
(SELECT "Id", total FROM "Order" WHERE total = $1 AND "Id" > $2 ORDER BY total, "Id" LIMIT 30)
UNION ALL
(SELECT "Id", total FROM "Order" WHERE total > $1 ORDER BY total, "Id" LIMIT 30)
ORDER BY total, "Id" LIMIT 30;
