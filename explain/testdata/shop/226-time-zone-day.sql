-- name: time-zone-day
-- shape: row-expression
-- sort: ("placedAt" AT TIME ZONE 'UTC')::date ASC, "Id" ASC
-- verdict: smell
-- types: date, bigint
-- args: $c1, $c2
-- cursor: SELECT ("placedAt" AT TIME ZONE 'UTC')::date, "Id" FROM "Order" ORDER BY 1, 2
-- note: no index over the expression: every page sorts the table
SELECT "Id" FROM "Order"
WHERE (("placedAt" AT TIME ZONE 'UTC')::date, "Id") > ($1, $2)
ORDER BY ("placedAt" AT TIME ZONE 'UTC')::date, "Id" LIMIT 40;
