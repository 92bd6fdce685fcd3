-- name: filter-and-nulls
-- shape: or-nulls
-- sort: left_at DESC NULLS LAST, parcel_id ASC
-- verdict: bad
-- types: int, timestamptz, int
-- args: 1, $c1, $c2
-- cursor: SELECT left_at, parcel_id FROM parcel WHERE hub = 1 AND left_at IS NOT NULL ORDER BY left_at DESC, parcel_id
SELECT p.parcel_id, p.left_at FROM parcel p
WHERE p.hub = $1 AND (p.left_at < $2 OR (p.left_at = $2 AND p.parcel_id > $3) OR p.left_at IS NULL)
ORDER BY p.left_at DESC NULLS LAST, p.parcel_id LIMIT 25;
