-- name: count_tables$
-- How many there are, whosever they may be.
SELECT count(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p', 'v', 'm', 'S');

-- name: connected_processes
-- Which of our processes use this database, apart from the one that asks.
SELECT DISTINCT application_name AS name FROM pg_catalog.pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE 'deemster %'
 ORDER BY 1;

-- name: newest_migration$
SELECT max(version) FROM migration;
