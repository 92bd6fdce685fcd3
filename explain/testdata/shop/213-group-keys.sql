-- name: group-keys
-- shape: single-group
-- sort: email ASC
-- verdict: good
-- types: text
-- args: $c1
-- cursor: SELECT email FROM "Order" ORDER BY email
-- note: the group key is unique in the result
SELECT email, count(*), max(total) FROM "Order" WHERE email > $1 GROUP BY email ORDER BY email LIMIT 25;
