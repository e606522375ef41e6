-- name: record!
-- Stores the analysis of a submission or execution; a later one replaces it.
INSERT INTO analysis (work_id, attempt, sarif, scores, tools, findings)
VALUES (:id, :attempt, :sarif, :scores, :tools, :findings)
ON CONFLICT (work_id) DO UPDATE
   SET attempt = EXCLUDED.attempt, sarif = EXCLUDED.sarif, scores = EXCLUDED.scores, tools = EXCLUDED.tools,
       findings = EXCLUDED.findings, analyzed_at = now();

-- name: get^
-- Reads the analysis of a submission or execution.
SELECT work_id, attempt, sarif, scores, tools, findings, analyzed_at FROM analysis WHERE work_id = :id;

-- name: request^
-- Adds a request for an analysis of work that has ended, with its job and its event, unless one is being done.
WITH inserted AS (
    INSERT INTO work (id, kind, subject_id, account_id, language, main, priority, request_digest)
    SELECT :id, 'analysis', w.id, w.account_id, w.language, w.main, w.priority, sha256(:id::text::bytea)
      FROM work w WHERE w.id = :subject
    ON CONFLICT (subject_id) WHERE subject_id IS NOT NULL AND finished_at IS NULL DO NOTHING
 RETURNING id
), new_events AS (
    INSERT INTO work_event (work_id, event, state, attempt)
    SELECT id, 'submit', 'PENDING', 0 FROM inserted
), new_jobs AS (
    INSERT INTO outbox (work_id, task, dispatch, attempt)
    SELECT id, 'analysis:run', 1, 0 FROM inserted
)
SELECT id FROM inserted;

-- name: request_details^
-- Reads what a worker needs for a requested analysis.
SELECT w.id, w.state, w.attempt, w.account_id, w.language, w.main, w.subject_id, s.source, s.revision, x.files,
       extract(epoch FROM now() - w.submitted_at)::float AS age_s
  FROM work w
  JOIN work s ON s.id = w.subject_id
  LEFT JOIN execution x ON x.work_id = s.id
 WHERE w.id = :id;

-- name: last_request^
-- Reads the state of the newest request for an analysis of a submission or execution.
SELECT id, state FROM work WHERE subject_id = :subject ORDER BY id DESC LIMIT 1;

-- name: has_failed$
-- Tells whether the analysis stage of a submission was given up.
SELECT EXISTS (SELECT FROM dead_letter WHERE work_id = :id AND task = 'submission:analyze');

-- name: delete_ended_requests$
-- Deletes requests that ended long ago, without their results; returns how many. Dead letters name those they became.
WITH gone AS (
    DELETE FROM work WHERE id = ANY (ARRAY(
        SELECT id FROM work w
         WHERE kind = 'analysis' AND finished_at < now() - make_interval(secs => :older_than_s)
           AND NOT EXISTS (SELECT FROM dead_letter d WHERE d.requeued_as = w.id)
         ORDER BY finished_at LIMIT :limit))
    RETURNING id
)
SELECT count(*) FROM gone;
