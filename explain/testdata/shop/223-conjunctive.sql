-- name: conjunctive
-- shape: not-and
-- sort: taken_at ASC, seq ASC
-- verdict: good
-- types: int, timestamp, int
-- args: 7, $c1, $c2
-- cursor: SELECT taken_at, seq FROM reading WHERE meter_id = 7 ORDER BY taken_at, seq
SELECT watt FROM reading
WHERE meter_id = $1 AND taken_at >= $2 AND NOT (taken_at = $2 AND seq <= $3)
ORDER BY taken_at, seq LIMIT 50;
