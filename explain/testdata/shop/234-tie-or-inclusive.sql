-- name: tie-or-inclusive
-- shape: or2
-- sort: total ASC, "Id" ASC
-- verdict: bad
-- types: numeric, bigint
-- args: $c1, $c2
-- cursor: SELECT total, "Id" FROM "Order" ORDER BY total, "Id"
-- note: the row of the cursor comes again, as in some APIs
SELECT "Id" FROM "Order" WHERE ("Id" >= $2 AND total = $1) OR total > $1 ORDER BY total, "Id" LIMIT 51;
