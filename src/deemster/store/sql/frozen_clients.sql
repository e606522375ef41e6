-- name: end_frozen
-- Ends transactions whose client stopped between two messages: while a statement is being prepared, or while an
-- answer is being sent. Postgres calls these active, so its own limit for idle transactions does not end them.
SELECT pid, application_name, pg_terminate_backend(pid)
  FROM pg_stat_activity
 WHERE datname = current_database() AND usename = current_user AND application_name LIKE 'deemster %'
   AND pid <> pg_backend_pid() AND xact_start IS NOT NULL AND state = 'active'
   AND (wait_event = 'ClientRead' AND state_change < now() - make_interval(secs => :silent_s)
     OR wait_event = 'ClientWrite' AND state_change < now() - make_interval(secs => :statement_s));
