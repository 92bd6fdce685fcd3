-- name: outer-join
-- shape: or2
-- sort: o.total ASC, o."Id" ASC
-- verdict: bad
-- types: numeric, bigint
-- args: $c1, $c2
-- cursor: SELECT total, "Id" FROM "Order" ORDER BY total, "Id"
SELECT o."Id", c.label FROM "Order" o LEFT JOIN customer c ON c.customer_id = o."customerId"
WHERE o.total > $1 OR (o.total = $1 AND o."Id" > $2)
ORDER BY o.total, o."Id" LIMIT 40;
