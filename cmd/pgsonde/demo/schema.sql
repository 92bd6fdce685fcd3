-- The tables of the play, as their application would have made them.
SET ROLE werft;

CREATE TABLE account (id int PRIMARY KEY, name text NOT NULL, balance bigint NOT NULL DEFAULT 0);
INSERT INTO account (id, name) SELECT n, 'account ' || n FROM generate_series(1, 200) AS n;

CREATE TABLE job (id int PRIMARY KEY, queue text NOT NULL, state text NOT NULL, run_at timestamptz NOT NULL);
INSERT INTO job SELECT n, 'q' || n % 5, 'waiting', now() + n * interval '1 min' FROM generate_series(1, 500) AS n;
CREATE INDEX job_queue_idx ON job (queue, run_at);

CREATE TABLE ledger (id int PRIMARY KEY, account_id int NOT NULL REFERENCES account, amount bigint NOT NULL);
INSERT INTO ledger SELECT n, n % 200 + 1, n FROM generate_series(1, 5000) AS n;

ANALYZE;
RESET ROLE;
