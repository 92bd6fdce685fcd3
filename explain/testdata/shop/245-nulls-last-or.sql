-- name: nulls-last-or
-- shape: or2
-- sort: "placedAt" DESC NULLS LAST, "Id" DESC NULLS LAST
-- verdict: smell
-- types: timestamptz, bigint
-- args: $c1, $c2
-- cursor: SELECT "placedAt", "Id" FROM "Order" ORDER BY "placedAt" DESC, "Id" DESC
-- note: a mapper that always writes NULLS LAST; the index has NULLs first, so the whole table, or all behind the cursor, is sorted
SELECT "Id" FROM "Order" WHERE "placedAt" < $1 OR ("placedAt" = $1 AND "Id" < $2) ORDER BY "placedAt" DESC NULLS LAST, "Id" DESC NULLS LAST LIMIT 50;
