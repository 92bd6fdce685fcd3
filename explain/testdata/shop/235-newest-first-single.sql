-- name: newest-first-single
-- shape: single
-- sort: seq DESC
-- verdict: good
-- types: int
-- args: $c1
-- cursor: SELECT seq FROM reading ORDER BY seq DESC
SELECT * FROM (SELECT seq, watt FROM reading WHERE seq < $1 ORDER BY seq DESC LIMIT 30) page ORDER BY seq;
