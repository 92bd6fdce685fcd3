-- Settings that matter to somebody who judges connections and waits.
-- Since 13. No privilege; those a login may not see, and those a major does not
-- have, are left out. A row per setting: name, what SHOW prints, reset value,
-- unit, source.
-- reset_val is what a new session of this login would get: pgsonde sets its own
-- timeouts after it connected, so the value in force is not the server's.
select s.name, pg_catalog.current_setting(s.name, true) as shown, s.reset_val, s.unit, s.source
from pg_catalog.pg_settings s
where s.name in ('max_connections', 'superuser_reserved_connections', 'reserved_connections', 'max_wal_senders',
  'max_worker_processes', 'max_parallel_workers', 'autovacuum_max_workers',
  'max_prepared_transactions', 'max_locks_per_transaction', 'authentication_timeout', 'statement_timeout', 'lock_timeout',
  'idle_in_transaction_session_timeout', 'idle_session_timeout', 'transaction_timeout', 'deadlock_timeout',
  'tcp_keepalives_idle', 'tcp_keepalives_interval', 'tcp_keepalives_count', 'tcp_user_timeout',
  'client_connection_check_interval', 'track_activities', 'track_activity_query_size', 'compute_query_id',
  'shared_preload_libraries', 'default_transaction_read_only', 'log_lock_waits', 'log_connections', 'work_mem',
  'shared_buffers', 'hot_standby', 'hot_standby_feedback', 'max_standby_streaming_delay', 'plan_cache_mode', 'ssl')
