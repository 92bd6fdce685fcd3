-- name: lower-index
-- shape: or2-expression
-- sort: lower(email) ASC, "Id" ASC
-- verdict: bad
-- types: text, bigint
-- args: $c1, $c2
-- cursor: SELECT lower(email), "Id" FROM "Order" ORDER BY 1, 2
SELECT "Id", email FROM "Order"
WHERE lower(email) > $1 OR (lower(email) = $1 AND "Id" > $2)
ORDER BY lower(email), "Id" LIMIT 30;
