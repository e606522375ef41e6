-- All that is typed is counted in the row of the execution. With a key, it is typed once (I1).
ALTER TABLE execution ADD COLUMN input_bytes bigint NOT NULL DEFAULT 0 CHECK (input_bytes >= 0);
ALTER TABLE execution_input ADD COLUMN at timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN key text CHECK (length(key) BETWEEN 1 AND 255);
CREATE UNIQUE INDEX execution_input_once ON execution_input (work_id, key) WHERE key IS NOT NULL;

-- Whoever deletes an execution has to look whether something refers to it: without these, by reading whole tables. The
-- first one has all rows: if it had only rejudged ones, the planner would read all of it for the trials of one rejudging.
CREATE INDEX work_rejudge_of ON work (rejudge_of);
CREATE INDEX dead_letter_requeued_as ON dead_letter (requeued_as) WHERE requeued_as IS NOT NULL;
