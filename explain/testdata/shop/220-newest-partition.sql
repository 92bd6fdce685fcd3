-- name: newest-partition
-- shape: or2-desc
-- sort: sent_at DESC, message_id DESC
-- verdict: bad
-- types: timestamptz, bigint
-- args: $c1, $c2
-- cursor: SELECT sent_at, message_id FROM message ORDER BY sent_at DESC, message_id DESC
SELECT message_id, body FROM message
WHERE sent_at < $1 OR (sent_at = $1 AND message_id < $2)
ORDER BY sent_at DESC, message_id DESC LIMIT 30;
