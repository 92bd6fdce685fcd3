-- name: sum-index
-- shape: or2-expression
-- sort: watt + coalesce(quality, 0) ASC, seq ASC
-- verdict: bad
-- types: int, int
-- args: $c1, $c2
-- cursor: SELECT watt + coalesce(quality, 0), seq FROM reading ORDER BY 1, 2
SELECT seq FROM reading
WHERE watt + coalesce(quality, 0) > $1 OR (watt + coalesce(quality, 0) = $1 AND seq > $2)
ORDER BY watt + coalesce(quality, 0), seq LIMIT 50;
