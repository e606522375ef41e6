-- name: add$
-- Adds a verification; returns nothing if the revision has one.
INSERT INTO verification (problem_id, revision, made_by, refused)
VALUES (:problem, :revision, :made_by, :refused)
ON CONFLICT DO NOTHING
RETURNING problem_id;

-- name: add_examples!
-- Inserts the example submissions of a verification with their events and outbox rows (Q2).
WITH inserted AS (
    INSERT INTO work (id, account_id, problem_id, revision, language, main, source, priority, request_digest, example)
    SELECT id, :account, :problem, :revision, language, main, source, :priority::int, sha256(id::bytea), example
      FROM unnest(:ids::text[], :languages::text[], :mains::text[], :sources::text[], :examples::text[])
        AS a (id, language, main, source, example)
 RETURNING id
), new_events AS (
    INSERT INTO work_event (work_id, event, state, attempt)
    SELECT id, 'submit', 'PENDING', 0 FROM inserted
)
INSERT INTO outbox (work_id, task, dispatch, attempt)
SELECT id, 'submission:run', 1, 0 FROM inserted;

-- name: remove_ended!
-- Removes a verification whose examples have all ended, and archives these.
WITH removed AS (
    DELETE FROM verification v
     WHERE v.problem_id = :problem AND v.revision = :revision
       AND NOT EXISTS (SELECT FROM work w
                        WHERE w.problem_id = v.problem_id AND w.revision = v.revision AND w.example IS NOT NULL
                          AND w.archived_at IS NULL AND w.finished_at IS NULL)
 RETURNING problem_id, revision
)
UPDATE work w SET archived_at = now() FROM removed r
 WHERE w.problem_id = r.problem_id AND w.revision = r.revision AND w.example IS NOT NULL AND w.archived_at IS NULL;

-- name: get^
-- Reads a verification without its examples.
SELECT v.made_at, v.refused, a.name AS made_by_name
  FROM verification v JOIN account a ON a.id = v.made_by
 WHERE v.problem_id = :problem AND v.revision = :revision;

-- name: list_examples
-- Lists the example submissions of a verification, with the digests of the jury's reports.
SELECT s.id, s.example, s.state, s.verdict, s.runtime_ms, s.memory_kb, s.score, s.max_score, s.failure,
       j.jury, l.cases_done, l.cases_total
  FROM submission s
  LEFT JOIN judgement j ON j.submission_id = s.id
  LEFT JOIN lease l ON l.work_id = s.id AND l.attempt = s.attempt
 WHERE s.problem_id = :problem AND s.revision = :revision AND s.example IS NOT NULL AND s.archived_at IS NULL;
