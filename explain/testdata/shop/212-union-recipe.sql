-- name: union-recipe
-- shape: row-union
-- sort: "shippedOn" DESC NULLS LAST, "Id" DESC
-- verdict: good
-- types: date, bigint
-- args: $c1, $c2
-- cursor: SELECT "shippedOn", "Id" FROM "Order" WHERE "shippedOn" IS NOT NULL ORDER BY "shippedOn" DESC, "Id" DESC
-- note: the rewrite of 205
(SELECT "Id", "shippedOn" FROM "Order" WHERE ("shippedOn", "Id") < ($1, $2) ORDER BY "shippedOn" DESC NULLS LAST, "Id" DESC LIMIT 20)
UNION ALL
(SELECT "Id", "shippedOn" FROM "Order" WHERE "shippedOn" IS NULL ORDER BY "shippedOn" DESC NULLS LAST, "Id" DESC LIMIT 20)
ORDER BY "shippedOn" DESC NULLS LAST, "Id" DESC LIMIT 20;
