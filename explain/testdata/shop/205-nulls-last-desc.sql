-- name: nulls-last-desc
-- shape: or-nulls
-- sort: "shippedOn" DESC NULLS LAST, "Id" DESC
-- verdict: bad
-- types: date, bigint
-- args: $c1, $c2
-- cursor: SELECT "shippedOn", "Id" FROM "Order" WHERE "shippedOn" IS NOT NULL ORDER BY "shippedOn" DESC, "Id" DESC
-- note: NULLs come last and are part of the list
SELECT "Id", "shippedOn" FROM "Order"
WHERE "shippedOn" < $1 OR ("shippedOn" = $1 AND "Id" < $2) OR "shippedOn" IS NULL
ORDER BY "shippedOn" DESC NULLS LAST, "Id" DESC LIMIT 20;
