-- name: filter-and-cursor
-- shape: or2-filter
-- sort: total ASC, "Id" ASC
-- verdict: bad
-- types: stage, numeric, bigint
-- args: 'sent', $c1, $c2
-- cursor: SELECT total, "Id" FROM "Order" ORDER BY total, "Id"
-- note: values on the left
SELECT "Id" FROM "Order"
WHERE stage = $1 AND ($2 < total OR ($2 = total AND $3 < "Id"))
ORDER BY total, "Id" LIMIT 50;
