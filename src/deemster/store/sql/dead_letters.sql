-- name: add!
-- Adds a dead letter after the last attempt (Q7).
INSERT INTO dead_letter (work_id, task, attempt, error, context)
VALUES (:id, :task, :attempt, :error, :context);

-- name: page
-- Lists dead letters, newest first; resolved ones only on request.
SELECT * FROM dead_letter
 WHERE (:include_resolved::bool OR outcome IS NULL) AND (:before::bigint IS NULL OR id < :before)
 ORDER BY id DESC LIMIT :limit;

-- name: get^
-- Reads one dead letter.
SELECT * FROM dead_letter WHERE id = :id;

-- name: resolve^
-- Resolves a dead letter, once.
UPDATE dead_letter SET outcome = :outcome, settled_at = now(), settled_by = :by, requeued_as = :requeued_as
 WHERE id = :id AND outcome IS NULL
RETURNING id;

-- name: history
-- Lists the events of a submission or execution, in order.
SELECT event, state, attempt, reason, at FROM work_event WHERE work_id = :id ORDER BY id;

-- name: latest_error$
-- Reads the newest error of a submission or execution that failed.
SELECT error FROM dead_letter WHERE work_id = :id ORDER BY id DESC LIMIT 1;
