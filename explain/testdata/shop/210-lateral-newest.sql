-- name: lateral-newest
-- shape: single-lateral
-- sort: "placedAt" DESC
-- verdict: good
-- types: int
-- args: 50
-- cursor: SELECT "placedAt", "Id" FROM "Order" ORDER BY "placedAt", "Id"
-- note: the newest of each group: a first page a group
SELECT c.customer_id, l."Id" FROM customer c
CROSS JOIN LATERAL (SELECT o."Id", o."placedAt" FROM "Order" o WHERE o."customerId" = c.customer_id ORDER BY o."placedAt" DESC, o."Id" DESC LIMIT 3) l
WHERE c.customer_id > $1 ORDER BY c.customer_id LIMIT 20;
