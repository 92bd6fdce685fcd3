-- name: grouped-or
-- shape: or2
-- sort: email ASC, "Id" ASC
-- verdict: smell
-- types: text, bigint
-- args: $c1, $c2
-- cursor: SELECT email, "Id" FROM "Order" ORDER BY email, "Id"
-- note: the groups are hashed: everything behind the cursor, or the whole table, is read
SELECT email, "Id", count(*) FROM "Order" WHERE email > $1 OR (email = $1 AND "Id" > $2) GROUP BY email, "Id" ORDER BY email, "Id" LIMIT 30;
