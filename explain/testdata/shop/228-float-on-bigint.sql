-- name: float-on-bigint
-- shape: single
-- sort: "Id" ASC
-- verdict: smell
-- types: float8
-- args: $c1
-- cursor: SELECT "Id" FROM "Order" ORDER BY "Id"
-- note: a float8 parameter: the key is cast and its index lost
SELECT "Id" FROM "Order" WHERE "Id" > $1 ORDER BY "Id" LIMIT 50;
