-- After its verdict a submission goes through stages, each with a job of its own. They never change the verdict.
-- Jobs are named after the kind of work and what is done with it.
UPDATE outbox SET task = CASE task WHEN 'run' THEN 'submission:run' WHEN 'execute' THEN 'execution:run' ELSE task END
 WHERE task IN ('run', 'execute');
UPDATE dead_letter
   SET task = CASE task WHEN 'run' THEN 'submission:run' WHEN 'execute' THEN 'execution:run' ELSE task END
 WHERE task IN ('run', 'execute');

-- `stages` are the tasks that are left, the present one first; it is present while the submission is in a stage.
-- `judged_at` is the time of a verdict that stages follow. Without stages it is `finished_at`.
-- `subject_id` is what a requested analysis is about; the request is deleted with it.
ALTER TABLE work
    ADD COLUMN stages text[],
    ADD COLUMN stage_tries integer NOT NULL DEFAULT 0 CHECK (stage_tries >= 0),
    ADD COLUMN judged_at timestamptz,
    ADD COLUMN subject_id text REFERENCES work ON DELETE CASCADE,
    DROP CONSTRAINT work_kind_check,
    ADD CONSTRAINT work_kind_check CHECK (kind IN ('submission', 'execution', 'analysis')),
    DROP CONSTRAINT work_id_names_kind,
    ADD CONSTRAINT work_id_names_kind CHECK (id LIKE
        CASE kind WHEN 'submission' THEN 'sub\_%' WHEN 'execution' THEN 'exe\_%' ELSE 'ana\_%' END),
    DROP CONSTRAINT completed_has_verdict,
    ADD CONSTRAINT completed_has_verdict CHECK (state <> 'COMPLETED' OR verdict IS NOT NULL OR kind <> 'submission'),
    ADD CONSTRAINT analysis_has_subject CHECK ((kind = 'analysis') = (subject_id IS NOT NULL)),
    ADD CONSTRAINT stage_has_tasks CHECK ((state IN ('ANALYZING', 'AI_EVALUATING')) =
        COALESCE(stages <@ '{submission:analyze,submission:evaluate_ai,submission:finalize}'
                 AND cardinality(stages) > 0, false)),
    ADD CONSTRAINT stage_has_verdict CHECK (stages IS NULL OR (verdict IS NOT NULL AND judged_at IS NOT NULL));
CREATE INDEX work_in_stage ON work (changed_at) WHERE stages IS NOT NULL;
CREATE UNIQUE INDEX analysis_unfinished ON work (subject_id) WHERE subject_id IS NOT NULL AND finished_at IS NULL;
CREATE INDEX analysis_of_subject ON work (subject_id, id) WHERE subject_id IS NOT NULL;
CREATE INDEX analysis_ended ON work (finished_at) WHERE kind = 'analysis' AND finished_at IS NOT NULL;

-- A verdict never changes, also while stages follow it.
CREATE OR REPLACE FUNCTION refuse_rewind() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.attempt < OLD.attempt THEN
        RAISE EXCEPTION 'The attempt of % can not go down.', OLD.id USING ERRCODE = 'check_violation';
    END IF;
    IF OLD.finished_at IS NOT NULL AND
       (NEW.state, NEW.verdict, NEW.finished_at) IS DISTINCT FROM (OLD.state, OLD.verdict, OLD.finished_at) THEN
        RAISE EXCEPTION 'The end of % can not change.', OLD.id USING ERRCODE = 'check_violation';
    END IF;
    IF OLD.stages IS NOT NULL AND
       (NEW.verdict, NEW.score, NEW.judged_at) IS DISTINCT FROM (OLD.verdict, OLD.score, OLD.judged_at) THEN
        RAISE EXCEPTION 'The verdict of % can not change.', OLD.id USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;

CREATE OR REPLACE VIEW submission AS
SELECT id, account_id, problem_id, revision, language, main, source, state, attempt, dispatch, priority,
       idempotency_key, request_digest, webhook_url, rejudge_of, archived_at, verdict, runtime_ms, memory_kb,
       passed_cases, total_cases, score, max_score, failure, submitted_at, changed_at, started_at, finished_at,
       contest_id, staged_in, applied_in, stages, stage_tries, judged_at
  FROM work WHERE kind = 'submission';

-- The verdict is told with the event that makes it known, and with all that follow.
CREATE OR REPLACE VIEW told_event AS
SELECT e.id, e.xact, e.work_id, e.event, e.state, e.attempt, e.reason, e.at,
       s.account_id, s.problem_id, s.contest_id, s.language, s.staged_in IS NOT NULL AS staged,
       CASE WHEN e.state IN ('ANALYZING', 'AI_EVALUATING', 'COMPLETED') THEN s.verdict END AS verdict,
       CASE WHEN e.state IN ('ANALYZING', 'AI_EVALUATING', 'COMPLETED') THEN s.runtime_ms END AS runtime_ms,
       CASE WHEN e.state IN ('ANALYZING', 'AI_EVALUATING', 'COMPLETED') THEN s.memory_kb END AS memory_kb,
       CASE WHEN e.state IN ('ANALYZING', 'AI_EVALUATING', 'COMPLETED') THEN s.passed_cases END AS passed_cases,
       CASE WHEN e.state IN ('ANALYZING', 'AI_EVALUATING', 'COMPLETED') THEN s.total_cases END AS total_cases,
       CASE WHEN e.state IN ('ANALYZING', 'AI_EVALUATING', 'COMPLETED') THEN s.score END AS score,
       CASE WHEN e.state IN ('ANALYZING', 'AI_EVALUATING', 'COMPLETED') THEN s.max_score END AS max_score
  FROM work_event e JOIN work s ON s.id = e.work_id;

-- The stages that run, if a problem or a contest decides that itself. A contest overrides its problems.
ALTER TABLE problem ADD COLUMN stages text[]
    CONSTRAINT problem_stages_known CHECK (stages <@ '{submission:analyze,submission:evaluate_ai}');
ALTER TABLE contest ADD COLUMN stages text[]
    CONSTRAINT contest_stages_known CHECK (stages <@ '{submission:analyze,submission:evaluate_ai}');

-- What analysers found in a submission or an execution: a SARIF log, compressed with zlib, and a score per category.
-- `counted` says whether the scores are in the sums of the problem.
CREATE TABLE analysis (
    work_id     text PRIMARY KEY REFERENCES work ON DELETE CASCADE,
    attempt     integer NOT NULL,
    sarif       bytea NOT NULL,
    scores      jsonb NOT NULL,
    tools       jsonb NOT NULL,
    findings    integer NOT NULL CHECK (findings >= 0),
    counted     boolean NOT NULL DEFAULT false,
    analyzed_at timestamptz NOT NULL DEFAULT now()
);
ALTER TABLE analysis ALTER COLUMN sarif SET STORAGE EXTERNAL;

-- Sums over the finished submissions of a problem, each counted once by its last job (I3).
CREATE TABLE analysis_tally (
    problem_id text NOT NULL REFERENCES problem,
    category   text NOT NULL,
    analyzed   integer NOT NULL CHECK (analyzed >= 0),
    points     bigint NOT NULL CHECK (points >= 0),
    PRIMARY KEY (problem_id, category)
) WITH (fillfactor = 50);

-- What a worker counted since it started, for /metrics: workers have no HTTP server.
ALTER TABLE worker ADD COLUMN stage_counts jsonb NOT NULL DEFAULT '{}';
