-- name: nulls-key-not-returned
-- shape: or-nulls
-- sort: left_at ASC NULLS FIRST, parcel_id DESC
-- verdict: bad
-- types: int, int
-- args: 2, $c1
-- cursor: SELECT parcel_id FROM parcel WHERE hub = 2 AND left_at IS NULL ORDER BY parcel_id DESC
-- note: what the page is sorted by is no part of its rows
SELECT parcel_id, booked FROM parcel
WHERE hub = $1 AND (left_at IS NULL AND parcel_id < $2 OR left_at IS NOT NULL)
ORDER BY left_at NULLS FIRST, parcel_id DESC LIMIT 20;
