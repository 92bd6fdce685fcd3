-- name: filter-in-one-branch
-- shape: or2-precedence
-- sort: total ASC, "Id" ASC
-- verdict: bad
-- types: int, numeric, bigint
-- args: 5, $c1, $c2
-- cursor: SELECT total, "Id" FROM "Order" ORDER BY total, "Id"
-- note: AND binds tighter: the second branch has no filter
SELECT "Id" FROM "Order"
WHERE weight > $1 AND total > $2 OR total = $2 AND "Id" > $3
ORDER BY total, "Id" LIMIT 50;
