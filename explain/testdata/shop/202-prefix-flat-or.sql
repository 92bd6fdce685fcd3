-- name: prefix-flat-or
-- shape: or2
-- sort: taken_at ASC, seq ASC
-- verdict: bad
-- types: int, timestamp, int
-- args: 7, $c1, $c2
-- cursor: SELECT taken_at, seq FROM reading WHERE meter_id = 7 ORDER BY taken_at, seq
-- note: equality prefix of the primary key, the OR without inner parentheses
select * from reading
where meter_id = $1 and (taken_at > $2 or taken_at = $2 and seq > $3)
order by taken_at, seq
fetch first 100 rows only;
