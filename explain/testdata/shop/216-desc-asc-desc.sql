-- name: desc-asc-desc
-- shape: or3-mixed
-- sort: watt DESC, meter_id ASC, seq DESC
-- verdict: bad
-- types: int, int, int
-- args: $c1, $c2, $c3
-- cursor: SELECT watt, meter_id, seq FROM reading ORDER BY watt DESC, meter_id, seq DESC
SELECT * FROM reading
WHERE watt < $1 OR (watt = $1 AND (meter_id > $2 OR (meter_id = $2 AND seq < $3)))
ORDER BY watt DESC, meter_id ASC, seq DESC LIMIT 30;
