-- name: three-keys-among-nulls
-- shape: or-nulls
-- sort: lane DESC, booked DESC, parcel_id DESC
-- verdict: bad
-- types: timestamptz, int
-- args: $c1, $c2
-- cursor: SELECT booked, parcel_id FROM parcel WHERE lane IS NULL ORDER BY booked DESC, parcel_id DESC
SELECT parcel_id, lane, booked FROM parcel
WHERE lane IS NOT NULL OR lane IS NULL AND booked < $1 OR lane IS NULL AND booked = $1 AND parcel_id < $2
ORDER BY lane DESC, booked DESC, parcel_id DESC LIMIT 25;
