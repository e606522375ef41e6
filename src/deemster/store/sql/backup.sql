-- name: count_tables$
-- Counts tables, views and sequences, whoever made them.
SELECT count(*) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
 WHERE n.nspname = 'public' AND c.relkind IN ('r', 'p', 'v', 'm', 'S');

-- name: connected_processes
-- Lists Deemster's processes that are connected to this database, without the caller.
SELECT DISTINCT application_name AS name FROM pg_catalog.pg_stat_activity
 WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name LIKE 'deemster %'
 ORDER BY 1;

-- name: newest_migration$
-- Reads the number of the newest migration that was applied.
SELECT max(version) FROM migration;

-- name: list_settings
-- Lists the names of all settings of the server.
SELECT name FROM pg_catalog.pg_settings;

-- name: list_missing_artifacts
-- Lists digests of sources and of the jury's reports that are neither in the database nor among these.
SELECT d.digest
  FROM (SELECT source AS digest FROM work WHERE source IS NOT NULL UNION SELECT jury FROM judgement) d
 WHERE d.digest <> ALL (:present::text[])
   AND NOT EXISTS (SELECT FROM artifact a WHERE a.digest = d.digest)
 ORDER BY 1 LIMIT 10;
