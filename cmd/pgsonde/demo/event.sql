-- The large table of the play, 300,000 rows.
SET ROLE werft;

-- Two rows share a created_at: a page needs id to go on without loss.
CREATE TABLE event AS
SELECT n AS id,
       timestamptz '2026-01-01 00:00:00Z' + (n / 2) * interval '7 s' AS created_at,
       n % 40 AS project_id,
       (ARRAY['push', 'build', 'deploy', 'review', 'login'])[n % 5 + 1] AS kind,
       'run ' || n AS note
FROM generate_series(1, 300000) AS n;

RESET ROLE;
