-- name: day-row
-- shape: row-expression
-- sort: taken_at::date ASC, seq ASC
-- verdict: good
-- types: date, int
-- args: $c1, $c2
-- cursor: SELECT taken_at::date, seq FROM reading ORDER BY 1, 2
-- note: the index is over the cast
SELECT seq FROM reading WHERE (taken_at::date, seq) > ($1, $2) ORDER BY taken_at::date, seq LIMIT 40;
