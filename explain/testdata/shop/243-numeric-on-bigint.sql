-- name: numeric-on-bigint
-- shape: or2-cast
-- sort: "Id" ASC, total ASC
-- verdict: bad
-- types: numeric, numeric
-- args: $c1, $c2
-- cursor: SELECT "Id", total FROM "Order" ORDER BY "Id"
-- note: the parameter is numeric: the key is cast
SELECT "Id" FROM "Order" WHERE "Id" > $1 OR ("Id" = $1 AND total > $2) ORDER BY "Id", total LIMIT 30;
