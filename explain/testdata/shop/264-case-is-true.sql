-- name: case-is-true
-- shape: case-plain
-- sort: "placedAt" DESC, "Id" DESC
-- verdict: bad
-- types: timestamptz, bigint
-- args: $c1, $c2
-- cursor: SELECT "placedAt", "Id" FROM "Order" ORDER BY "placedAt" DESC, "Id" DESC
-- note: the first arm that holds decides
SELECT "Id", "placedAt" FROM "Order"
WHERE CASE WHEN "placedAt" < $1 THEN true WHEN "placedAt" > $1 THEN false WHEN "Id" < $2 THEN "placedAt" = $1 ELSE false END
ORDER BY "placedAt" DESC, "Id" DESC LIMIT 40;
