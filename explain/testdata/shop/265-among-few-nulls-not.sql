-- name: among-few-nulls-not
-- shape: or-nulls
-- sort: weighed ASC NULLS FIRST, parcel_id ASC
-- verdict: good
-- types: int
-- args: $c1
-- cursor: SELECT parcel_id FROM parcel WHERE weighed IS NULL ORDER BY parcel_id
SELECT parcel_id, weighed FROM parcel
WHERE NOT (weighed IS NULL AND parcel_id <= $1)
ORDER BY weighed NULLS FIRST, parcel_id LIMIT 40;
