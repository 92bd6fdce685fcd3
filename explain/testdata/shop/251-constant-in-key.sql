-- name: constant-in-key
-- shape: or2
-- sort: coalesce(weight, -1) ASC, "Id" ASC
-- verdict: bad
-- types: float8, bigint
-- args: $c1, $c2
-- cursor: SELECT coalesce(weight, -1), "Id" FROM "Order" ORDER BY coalesce(weight, -1), "Id"
-- note: the index keeps both casts of the constant, the plan has one constant
SELECT "Id", weight FROM "Order" WHERE coalesce(weight, -1) > $1 OR (coalesce(weight, -1) = $1 AND "Id" > $2) ORDER BY coalesce(weight, -1), "Id" LIMIT 30;
