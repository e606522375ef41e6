-- name: claim
-- Claims rows that are due, for one relay until the claim ends (Q2).
WITH due AS (
    SELECT id FROM outbox
     WHERE sent_at IS NULL AND available_at <= now() AND (claimed_until IS NULL OR claimed_until < now())
     ORDER BY available_at, id
     LIMIT :limit
       FOR UPDATE SKIP LOCKED
), claimed AS (
    UPDATE outbox o
       SET claimed_until = now() + make_interval(secs => :claim_s), tries = o.tries + 1
      FROM due WHERE o.id = due.id
 RETURNING o.id, o.work_id, o.task, o.dispatch, o.attempt, o.tries
)
SELECT c.id, c.work_id, c.task, c.dispatch, c.attempt, c.tries, s.priority, s.problem_id, s.revision
  FROM claimed c JOIN work s ON s.id = c.work_id
 ORDER BY c.id;

-- name: mark_sent!
-- Marks rows as sent.
UPDATE outbox SET sent_at = now(), claimed_until = NULL, error = NULL
 WHERE id = ANY (:ids::bigint[]) AND sent_at IS NULL;

-- name: retry_later!
-- Releases rows that the queue did not take; the delay grows with each try.
UPDATE outbox
   SET claimed_until = NULL, error = :error,
       available_at = now() + make_interval(secs => LEAST(:max_s::float, :first_s::float * 2 ^ LEAST(tries, 16)))
 WHERE id = ANY (:ids::bigint[]) AND sent_at IS NULL;

-- name: retry_now!
-- Makes rows that failed due now.
UPDATE outbox SET available_at = now()
 WHERE sent_at IS NULL AND error IS NOT NULL AND available_at > now();

-- name: add!
-- Adds a job, in the transaction that creates it.
INSERT INTO outbox (work_id, task, dispatch, attempt, available_at)
VALUES (:id, :task, :dispatch, :attempt, now() + make_interval(secs => :delay_s));

-- name: count_unsent^
-- Counts unsent rows, and for how long the oldest has been due.
SELECT count(*) AS waiting,
       COALESCE(EXTRACT(epoch FROM now() - min(available_at) FILTER (WHERE available_at <= now())), 0)::float AS oldest_s
  FROM outbox WHERE sent_at IS NULL;

-- name: trim!
-- Deletes rows that were sent long ago; events keep the history (Q12).
DELETE FROM outbox WHERE id IN (
    SELECT id FROM outbox WHERE sent_at < now() - make_interval(secs => :older_than_s) LIMIT :limit);
