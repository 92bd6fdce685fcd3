-- name: partial-index
-- shape: row
-- sort: total DESC, "Id" ASC
-- verdict: good
-- types: numeric, bigint
-- args: $c1, $c2
-- cursor: SELECT total, "Id" FROM "Order" WHERE stage = 'back' ORDER BY total DESC, "Id"
-- note: swapped pair, partial index
SELECT "Id" FROM "Order" WHERE stage = 'back' AND (total, $2) < ($1, "Id") ORDER BY total DESC, "Id" LIMIT 50;
