-- A language server is run as an execution whose program is not the user's.
ALTER TABLE execution DROP CONSTRAINT execution_io_check,
    ADD CONSTRAINT execution_io_check CHECK (io IN ('batch', 'streams', 'terminal', 'language_server'));
