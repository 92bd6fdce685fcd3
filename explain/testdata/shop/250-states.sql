-- name: states
-- shape: first-page
-- sort: "placedAt" DESC, "Id" DESC
-- verdict: good
-- types: 
-- args: 
-- cursor: SELECT "placedAt", "Id" FROM "Order" ORDER BY "placedAt" DESC, "Id" DESC
-- note: an OR of values, with a condition on the sort key in one branch
SELECT "Id" FROM "Order" WHERE stage = 'new' OR (stage = 'paid' AND "placedAt" < now()) ORDER BY "placedAt" DESC, "Id" DESC LIMIT 25;
