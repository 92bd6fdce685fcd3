-- name: negated-single
-- shape: not-single
-- sort: watt DESC
-- verdict: smell
-- types: int
-- args: $c1
-- cursor: SELECT watt FROM reading ORDER BY watt DESC
-- note: ties of the last row are lost
SELECT seq FROM reading WHERE NOT (watt >= $1) ORDER BY watt DESC LIMIT 30;
