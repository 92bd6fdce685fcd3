-- name: optional-cursor
-- shape: or-optional
-- sort: "placedAt" DESC, "Id" DESC
-- verdict: bad
-- types: timestamptz, bigint
-- args: $c1, $c2
-- cursor: SELECT "placedAt", "Id" FROM "Order" ORDER BY "placedAt" DESC, "Id" DESC
SELECT "Id" FROM "Order"
WHERE $1::timestamptz IS NULL OR "placedAt" < $1 OR "placedAt" = $1 AND "Id" < $2
ORDER BY "placedAt" DESC, "Id" DESC LIMIT 25;
