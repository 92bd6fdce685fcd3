-- name: quoted-names
-- shape: or2
-- sort: "placedAt" DESC, "Id" DESC
-- verdict: bad
-- types: timestamptz, bigint
-- args: $c1, $c2
-- cursor: SELECT "placedAt", "Id" FROM "Order" ORDER BY "placedAt" DESC, "Id" DESC
-- note: identifiers that only exist in quotes
SELECT o."Id", o.total FROM "Order" AS o
WHERE ((o."placedAt" < $1) OR (o."placedAt" = $1 AND o."Id" < $2))
ORDER BY o."placedAt" DESC, o."Id" DESC
LIMIT 25;
