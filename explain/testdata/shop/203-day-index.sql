-- name: day-index
-- shape: or2-expression
-- sort: taken_at::date ASC, seq ASC
-- verdict: bad
-- types: date, int
-- args: $c1, $c2
-- cursor: SELECT taken_at::date, seq FROM reading ORDER BY 1, 2
-- note: the index is over the cast, so only the OR stands in the way
SELECT seq, watt FROM reading
WHERE taken_at::date > $1 OR (taken_at::date = $1 AND seq > $2)
ORDER BY taken_at::date, seq LIMIT 40;
