-- name: two-nots
-- shape: not-and
-- sort: total ASC, "Id" ASC
-- verdict: good
-- types: numeric, bigint
-- args: $c1, $c2
-- cursor: SELECT total, "Id" FROM "Order" ORDER BY total, "Id"
-- note: two negations give the bound and the rest
SELECT "Id" FROM "Order"
WHERE NOT (total < $1) AND NOT (total = $1 AND "Id" <= $2)
ORDER BY total, "Id" LIMIT 30;
