-- name: three-parameters
-- shape: or2
-- sort: total ASC, "Id" ASC
-- verdict: bad
-- types: numeric, numeric, bigint
-- args: $c1, $c1, $c2
-- cursor: SELECT total, "Id" FROM "Order" ORDER BY total, "Id"
-- note: one value bound twice
select "Id", total from "Order" where (total > $1 or (total = $2 and "Id" > $3)) order by total asc, "Id" asc limit 50
