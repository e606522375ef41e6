-- name: add!
-- Adds a judge host unless another host that is not revoked has the name.
INSERT INTO judge_host (id, name, created_by) VALUES (:id, :name, :created_by)
    ON CONFLICT (name) WHERE revoked_at IS NULL DO NOTHING;

-- name: find^
-- Reads what is needed to check a signature of a host.
SELECT id, name, generation, paused_at IS NOT NULL AS is_paused, revoked_at IS NOT NULL AS is_revoked
  FROM judge_host WHERE id = :id;

-- name: lock^
-- Finds a host that is not revoked by its name or id; other changes of the host wait meanwhile.
SELECT id, name, generation, paused_at IS NOT NULL AS is_paused, false AS is_revoked
  FROM judge_host WHERE (id = :name OR name = :name) AND revoked_at IS NULL FOR NO KEY UPDATE;

-- name: views
-- Lists hosts by name with their latest worker: one host, or all that are not revoked.
SELECT h.id, h.name, h.created_by, h.created_at, h.paused_at, h.pause_reason, h.revoked_at,
       w.id AS worker_id, w.slots, w.execution_slots, w.busy, w.languages, w.versions, w.speed, w.address,
       w.started_at, w.seen_at, w.draining_at,
       w.gone_at IS NULL AND w.seen_at > now() - make_interval(secs => :silent_s) AS is_live
  FROM judge_host h
  LEFT JOIN LATERAL (SELECT * FROM worker WHERE judge_host_id = h.id
                      ORDER BY gone_at IS NULL DESC, id DESC LIMIT 1) w ON true
 WHERE CASE WHEN :id::text IS NULL THEN h.revoked_at IS NULL ELSE h.id = :id END
 ORDER BY h.name, h.id;

-- name: pause^
-- Gives a host no more tasks, also after it starts again.
UPDATE judge_host SET paused_at = COALESCE(paused_at, now()), pause_reason = :reason
 WHERE id = :id AND revoked_at IS NULL
RETURNING id;

-- name: resume^
-- Gives a host tasks again.
UPDATE judge_host SET paused_at = NULL, pause_reason = NULL WHERE id = :id AND revoked_at IS NULL
RETURNING id;

-- name: drain_workers
-- Tells the worker of a host to take no more tasks.
UPDATE worker SET draining_at = COALESCE(draining_at, now()) WHERE judge_host_id = :id AND gone_at IS NULL
RETURNING id;

-- name: resume_workers!
-- Tells the worker of a host to take tasks again.
UPDATE worker SET draining_at = NULL WHERE judge_host_id = :id AND gone_at IS NULL;

-- name: revoke^
-- Makes the key of a host useless for ever.
UPDATE judge_host SET revoked_at = now() WHERE id = :id AND revoked_at IS NULL
RETURNING id;

-- name: rotate^
-- Replaces the key of a host by one of the next generation.
UPDATE judge_host SET generation = generation + 1 WHERE id = :id AND revoked_at IS NULL
RETURNING generation;

-- name: mark_workers_gone
-- Marks the worker of a host as gone, so that its work is rescued at once.
UPDATE worker SET gone_at = now() WHERE judge_host_id = :id AND gone_at IS NULL
RETURNING id;

-- name: use_nonce^
-- Remembers a nonce, and reads the host again: it may have changed since the signature was checked.
WITH used AS (
    INSERT INTO judge_host_nonce (host_id, nonce) VALUES (:host, :nonce) ON CONFLICT DO NOTHING
    RETURNING true
)
SELECT id, name, generation, paused_at IS NOT NULL AS is_paused, revoked_at IS NOT NULL AS is_revoked,
       EXISTS (SELECT FROM used) AS is_new
  FROM judge_host WHERE id = :host;

-- name: trim_nonces!
-- Deletes nonces of requests that would be too old to be accepted.
DELETE FROM judge_host_nonce WHERE used_at < now() - make_interval(secs => :older_than_s);

-- name: count_refusal!
-- Counts a refused request or result of a host.
INSERT INTO host_refusal AS r (reason, count) VALUES (:reason, 1)
    ON CONFLICT (reason) DO UPDATE SET count = r.count + 1, last_at = now();

-- name: refusals
-- Reads how often hosts were refused, by reason.
SELECT reason, count FROM host_refusal ORDER BY reason;
