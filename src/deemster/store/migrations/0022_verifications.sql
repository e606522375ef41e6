-- Verifications: the example submissions of a package, judged by the workers and compared with their labels (W3).
-- `refused` says by path why an example can't be judged.
CREATE TABLE verification (
    problem_id text NOT NULL,
    revision   text NOT NULL,
    made_by    text NOT NULL REFERENCES account,
    made_at    timestamptz NOT NULL DEFAULT now(),
    refused    jsonb NOT NULL,
    PRIMARY KEY (problem_id, revision),
    FOREIGN KEY (problem_id, revision) REFERENCES problem_revision (problem_id, digest)
);

-- The path of the example in its package. Such a submission is in no list, and counts for nobody.
ALTER TABLE work ADD COLUMN example text,
    ADD CONSTRAINT example_of_submission CHECK
        (example IS NULL OR (kind = 'submission' AND rejudge_of IS NULL AND contest_id IS NULL));
CREATE UNIQUE INDEX submission_of_example ON work (problem_id, revision, example)
    WHERE example IS NOT NULL AND archived_at IS NULL;

CREATE OR REPLACE VIEW submission AS
SELECT id, account_id, problem_id, revision, language, main, source, state, attempt, dispatch, priority,
       idempotency_key, request_digest, webhook_url, rejudge_of, archived_at, verdict, runtime_ms, memory_kb,
       passed_cases, total_cases, score, max_score, failure, submitted_at, changed_at, started_at, finished_at,
       contest_id, staged_in, applied_in, stages, stage_tries, judged_at, example
  FROM work WHERE kind = 'submission';

-- Events of examples are hidden from users, as those of trials are.
CREATE OR REPLACE VIEW told_event AS
SELECT e.id, e.xact, e.work_id, e.event, e.state, e.attempt, e.reason, e.at,
       s.account_id, s.problem_id, s.contest_id, s.language,
       s.staged_in IS NOT NULL OR s.example IS NOT NULL AS staged,
       CASE WHEN e.state IN ('ANALYZING', 'AI_EVALUATING', 'COMPLETED') THEN s.verdict END AS verdict,
       CASE WHEN e.state IN ('ANALYZING', 'AI_EVALUATING', 'COMPLETED') THEN s.runtime_ms END AS runtime_ms,
       CASE WHEN e.state IN ('ANALYZING', 'AI_EVALUATING', 'COMPLETED') THEN s.memory_kb END AS memory_kb,
       CASE WHEN e.state IN ('ANALYZING', 'AI_EVALUATING', 'COMPLETED') THEN s.passed_cases END AS passed_cases,
       CASE WHEN e.state IN ('ANALYZING', 'AI_EVALUATING', 'COMPLETED') THEN s.total_cases END AS total_cases,
       CASE WHEN e.state IN ('ANALYZING', 'AI_EVALUATING', 'COMPLETED') THEN s.score END AS score,
       CASE WHEN e.state IN ('ANALYZING', 'AI_EVALUATING', 'COMPLETED') THEN s.max_score END AS max_score
  FROM work_event e JOIN work s ON s.id = e.work_id;
