-- name: lock_host^
-- Reads a host for its registration; pausing and revoking it wait meanwhile.
SELECT name, paused_at IS NOT NULL AS is_paused FROM judge_host
 WHERE id = :host AND revoked_at IS NULL FOR NO KEY UPDATE;

-- name: register!
-- Adds the process of a host as a worker. A host has no process on this machine.
INSERT INTO worker (id, judge_host_id, host, process, slots, execution_slots, languages, versions, speed, address,
                    draining_at)
VALUES (:id, :host, :name, '', :slots, :execution_slots, :languages, :versions, :speed, :address,
        CASE WHEN :is_paused::bool THEN now() END);

-- name: heartbeat^
-- Records that a host is alive, and what it has; returns whether it is to drain.
UPDATE worker w
   SET seen_at = now(), busy = :busy, cycle_s = COALESCE(:cycle_s, cycle_s),
       data = CASE WHEN data = :data::text[] THEN data ELSE :data END, -- a long list is not written again
       languages = COALESCE(:languages::text[], languages), versions = COALESCE(:versions::jsonb, versions),
       draining_at = CASE WHEN :ending::bool OR h.paused_at IS NOT NULL THEN COALESCE(draining_at, now())
                          ELSE draining_at END
  FROM judge_host h
 WHERE w.id = :worker AND w.judge_host_id = :host AND w.gone_at IS NULL AND h.id = w.judge_host_id
RETURNING draining_at IS NOT NULL AS is_draining;

-- name: is_known$
-- Tells whether the host has had this worker.
SELECT EXISTS (SELECT FROM worker WHERE id = :worker AND judge_host_id = :host);

-- name: is_present$
-- Tells whether the host has this worker, and it is not gone.
SELECT EXISTS (SELECT FROM worker WHERE id = :worker AND judge_host_id = :host AND gone_at IS NULL);

-- name: renew
-- Renews the leases of tasks that a host runs; returns the judge ids whose results still count. A host can't tell of
-- more cases than the problem has: pages show each of them.
UPDATE lease l
   SET beat_at = now(), cases_done = LEAST(r.done, r.total, p.cases), cases_total = LEAST(r.total, p.cases)
  FROM unnest(:ids::text[], :done::int[], :total::int[]) AS r (judge_id, done, total)
  JOIN remote_task t USING (judge_id)
  JOIN work w ON w.id = t.work_id
  LEFT JOIN problem_revision p ON p.problem_id = w.problem_id AND p.digest = w.revision
 WHERE t.host_id = :host AND t.worker_id = :worker AND t.ended_at IS NULL
   AND l.work_id = t.work_id AND l.attempt = t.attempt AND l.worker_id = t.worker_id
RETURNING t.judge_id;

-- name: leave!
-- Marks the worker of a host as gone.
UPDATE worker SET gone_at = now() WHERE id = :worker AND judge_host_id = :host AND gone_at IS NULL;
