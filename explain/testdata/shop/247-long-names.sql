-- name: long-names
-- shape: first-page
-- sort: email ASC
-- verdict: good
-- types: 
-- args: 
-- cursor: SELECT email, "Id" FROM "Order" ORDER BY email, "Id"
-- note: a filter over the sort key is no cursor
SELECT "Id", email FROM "Order" WHERE length(email) > 9 ORDER BY email, "Id" LIMIT 30;
