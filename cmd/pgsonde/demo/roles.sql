-- Who logs in. None of them is a superuser: what pgsonde shows in the demo is
-- what an ordinary monitoring login sees.
CREATE ROLE werft LOGIN;
CREATE ROLE etl LOGIN;
CREATE ROLE dana LOGIN;
CREATE ROLE sam LOGIN;
CREATE ROLE sonde LOGIN;
GRANT pg_monitor, pg_signal_backend, pg_read_all_data TO sonde;
GRANT pg_read_all_data TO etl, dana, sam;
GRANT pg_monitor TO sam;
