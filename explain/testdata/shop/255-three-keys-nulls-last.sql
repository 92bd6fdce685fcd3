-- name: three-keys-nulls-last
-- shape: or-nulls
-- sort: lane DESC NULLS LAST, booked ASC, parcel_id DESC
-- verdict: bad
-- types: smallint, timestamptz, int
-- args: $c1, $c2, $c3
-- cursor: SELECT lane, booked, parcel_id FROM parcel WHERE lane IS NOT NULL ORDER BY lane DESC, booked, parcel_id DESC
-- note: six lanes, keys that go different ways, NULLs behind
SELECT * FROM parcel
WHERE lane < $1 OR lane = $1 AND booked > $2 OR lane = $1 AND booked = $2 AND parcel_id < $3 OR lane IS NULL
ORDER BY lane DESC NULLS LAST, booked, parcel_id DESC LIMIT 25;
