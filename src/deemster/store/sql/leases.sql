-- name: take!
-- This worker runs it now.
INSERT INTO lease (submission_id, attempt, worker_id, lease_s)
VALUES (:id, :attempt, :worker, :lease_s)
ON CONFLICT (submission_id) DO UPDATE
   SET attempt = EXCLUDED.attempt, worker_id = EXCLUDED.worker_id, lease_s = EXCLUDED.lease_s,
       beat_at = now(), cases_done = 0, cases_total = 0
 WHERE lease.attempt < EXCLUDED.attempt;

-- name: renew
-- One beat for all that a worker runs; what is missing in the answer is not its own any more.
UPDATE lease l
   SET beat_at = now(), cases_done = w.cases_done, cases_total = w.cases_total
  FROM unnest(:ids::text[], :attempts::int[], :done::int[], :total::int[])
       AS w (id, attempt, cases_done, cases_total)
 WHERE l.submission_id = w.id AND l.attempt = w.attempt AND l.worker_id = :worker
RETURNING l.submission_id;

-- name: release!
-- It runs no more.
DELETE FROM lease WHERE submission_id = :id;

-- name: find_stale
-- Running, and its worker silent for longer than its lease, or known to be gone, or no lease at all (Q6).
SELECT s.id, s.attempt, l.worker_id
  FROM submission s
  LEFT JOIN lease l ON l.submission_id = s.id AND l.attempt = s.attempt
  LEFT JOIN worker w ON w.id = l.worker_id
 WHERE s.state = 'RUNNING'
   AND (CASE WHEN l.submission_id IS NULL THEN s.changed_at < now() - interval '15 seconds'
             ELSE l.beat_at < now() - make_interval(secs => l.lease_s) OR w.gone_at IS NOT NULL END)
 ORDER BY s.changed_at
 LIMIT :limit;

-- name: count_running^
-- How many run: of a language, of an account, and altogether (Q9). What is judged again is none of
-- its account's doing.
SELECT count(*) AS everything,
       count(*) FILTER (WHERE language = :language) AS of_language,
       count(*) FILTER (WHERE account_id = :account AND rejudge_of IS NULL) AS of_account
  FROM submission WHERE state = 'RUNNING';

-- name: lock_caps!
-- Starts that must be counted come one after the other.
SELECT pg_advisory_xact_lock(hashtext('deemster caps'));
