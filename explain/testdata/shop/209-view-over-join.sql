-- name: view-over-join
-- shape: or2
-- sort: placed DESC, order_id DESC
-- verdict: bad
-- types: timestamptz, bigint
-- args: $c1, $c2
-- cursor: SELECT "placedAt", "Id" FROM "Order" ORDER BY "placedAt" DESC, "Id" DESC
-- note: columns renamed by a view
SELECT * FROM order_list
WHERE placed < $1 OR (placed = $1 AND order_id < $2)
ORDER BY placed DESC, order_id DESC LIMIT 20;
