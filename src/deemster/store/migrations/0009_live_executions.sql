-- Each request for a program with typed input counts those of its user that have not ended.
CREATE INDEX execution_unfinished ON work (account_id) WHERE kind = 'execution' AND finished_at IS NULL;
