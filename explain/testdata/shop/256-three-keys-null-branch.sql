-- name: three-keys-null-branch
-- shape: or-nulls
-- sort: lane ASC, booked ASC, parcel_id ASC
-- verdict: bad
-- types: smallint, timestamptz, int
-- args: $c1, $c2, $c3
-- cursor: SELECT lane, booked, parcel_id FROM parcel WHERE lane IS NOT NULL ORDER BY lane, booked, parcel_id
SELECT parcel_id, lane, booked FROM parcel
WHERE lane > $1 OR (lane = $1 AND (booked > $2 OR (booked = $2 AND parcel_id > $3))) OR lane IS NULL
ORDER BY lane, booked, parcel_id LIMIT 25;
