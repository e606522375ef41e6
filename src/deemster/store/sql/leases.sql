-- name: renew
-- Renews all leases of a worker; submissions missing in the answer are no longer its own.
UPDATE lease l
   SET beat_at = now(), cases_done = w.cases_done, cases_total = w.cases_total, cases = w.cases::jsonb
  FROM unnest(:ids::text[], :attempts::int[], :done::int[], :total::int[], :cases::text[])
       AS w (id, attempt, cases_done, cases_total, cases)
 WHERE l.work_id = w.id AND l.attempt = w.attempt AND l.worker_id = :worker
RETURNING l.work_id;

-- name: list_running
-- Lists what workers run now, oldest first, for admins; at most a thousand.
SELECT l.worker_id, l.work_id, l.attempt, s.stages, s.language, s.problem_id, a.name AS account_name,
       extract(epoch FROM now() - s.changed_at)::float AS seconds, l.cases_done, l.cases_total
  FROM lease l
  JOIN work s ON s.id = l.work_id
  JOIN account a ON a.id = s.account_id
 ORDER BY s.changed_at, l.work_id
 LIMIT 1000;

-- name: find_stale
-- Lists running submissions whose worker is silent for longer than the lease, or gone, or that have no lease (Q6). A
-- stage without a lease waits for a worker. Work whose result a judge host has reported waits to be settled, also if a
-- host that checks this result is silent; after an hour, no dispatcher seems to run.
(SELECT s.id, s.attempt, l.worker_id, l.beat_at, s.attempt AS tries, s.stages
   FROM work s
   LEFT JOIN lease l ON l.work_id = s.id AND l.attempt = s.attempt
   LEFT JOIN worker w ON w.id = l.worker_id
  WHERE s.state = 'RUNNING'
    AND (CASE WHEN l.work_id IS NULL THEN s.changed_at < now() - interval '15 seconds'
              ELSE l.beat_at < now() - make_interval(secs => l.lease_s) OR w.gone_at IS NOT NULL END)
    AND NOT EXISTS (SELECT FROM remote_task t JOIN host_message m USING (judge_id)
                     WHERE t.work_id = l.work_id AND t.attempt = l.attempt AND t.ended_at IS NULL
                       AND m.received_at > now() - interval '1 hour')
  ORDER BY s.changed_at
  LIMIT :limit)
UNION ALL
(SELECT s.id, s.attempt, l.worker_id, l.beat_at, s.stage_tries, s.stages
   FROM work s
   JOIN lease l ON l.work_id = s.id
   LEFT JOIN worker w ON w.id = l.worker_id
  WHERE s.stages IS NOT NULL
    AND (l.beat_at < now() - make_interval(secs => l.lease_s) OR w.gone_at IS NOT NULL)
    AND NOT EXISTS (SELECT FROM remote_task t JOIN host_message m USING (judge_id)
                     WHERE t.work_id = s.id AND t.attempt = s.attempt AND t.worker_id = l.worker_id
                       AND t.ended_at IS NULL AND m.received_at > now() - interval '1 hour')
  ORDER BY s.changed_at
  LIMIT :limit);

-- name: end_stale$
-- Ends a lease that find_stale has listed, unless it was renewed since, or a judge host has reported a result since.
DELETE FROM lease l
 WHERE l.work_id = :id AND l.attempt = :attempt AND l.beat_at = :beat_at
   AND NOT EXISTS (SELECT FROM remote_task t JOIN host_message m USING (judge_id)
                    WHERE t.work_id = l.work_id AND t.attempt = l.attempt AND t.ended_at IS NULL
                      AND m.received_at > now() - interval '1 hour')
RETURNING true;

-- name: count_running^
-- Counts what runs of one kind: of a language, of an account, and all (Q9). Rejudges do not count for the account.
SELECT count(*) AS total,
       count(*) FILTER (WHERE language = :language) AS of_language,
       count(*) FILTER (WHERE account_id = :account AND rejudge_of IS NULL) AS of_account
  FROM work WHERE state = 'RUNNING' AND kind = :kind;

-- name: lock_caps!
-- Lets starts that must be counted come one after the other.
SELECT pg_advisory_xact_lock(hashtext('deemster caps'));
