-- name: name_application!
-- Names the role of the service for the next two statements, until the end of the transaction.
SELECT set_config('deemster.application', :role, true);

-- name: create_application!
-- Creates the role of the service in the embedded database, and gives up queues of the owner's:
-- the service makes its own, and sends all jobs again.
DO $$
DECLARE
    application text := current_setting('deemster.application');
    queue text;
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = application) THEN
        EXECUTE format('CREATE ROLE %I LOGIN', application);
    END IF;
    EXECUTE format('ALTER ROLE %I NOSUPERUSER NOCREATEDB NOCREATEROLE', application);
    EXECUTE format('GRANT CREATE ON DATABASE %I TO %I', current_database(), application);
    FOR queue IN
        SELECT nspname FROM pg_namespace
        WHERE nspname LIKE 'queue\_%' AND pg_get_userbyid(nspowner) <> application
    LOOP
        EXECUTE format('DROP SCHEMA %I CASCADE', queue);
    END LOOP;
END $$;

-- name: grant_rows!
-- Lets the role of the service read and write rows of all tables, but not the list of migrations.
DO $$
DECLARE
    application text := current_setting('deemster.application');
    tables text := current_schema();
BEGIN
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', tables, application);
    EXECUTE format(
        'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA %I TO %I', tables, application
    );
    EXECUTE format('GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA %I TO %I', tables, application);
    EXECUTE format('REVOKE INSERT, UPDATE, DELETE ON migration FROM %I', application);
END $$;

-- name: current_role$
-- Returns the name of the role of this connection.
SELECT current_user;
