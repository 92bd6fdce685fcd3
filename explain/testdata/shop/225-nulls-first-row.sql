-- name: nulls-first-row
-- shape: row
-- sort: "placedAt" DESC NULLS LAST, "Id" DESC NULLS LAST
-- verdict: smell
-- types: timestamptz, bigint
-- args: $c1, $c2
-- cursor: SELECT "placedAt", "Id" FROM "Order" ORDER BY "placedAt" DESC, "Id" DESC
-- note: no NULL can be there, but the index has NULLS FIRST
SELECT "Id" FROM "Order" WHERE ("placedAt", "Id") < ($1, $2) ORDER BY "placedAt" DESC NULLS LAST, "Id" DESC NULLS LAST LIMIT 50;
