-- name: register!
-- A worker that begins.
INSERT INTO worker (id, host, process, slots, languages, versions)
VALUES (:id, :host, :process, :slots, :languages, :versions);

-- name: update_languages!
-- What it has now.
UPDATE worker SET languages = :languages, versions = :versions WHERE id = :id AND gone_at IS NULL;

-- name: heartbeat^
-- It lives, and hears whether it is to drain.
UPDATE worker
   SET seen_at = now(), busy = :busy, cycle_s = :cycle_s,
       draining_at = CASE WHEN :ending::bool THEN COALESCE(draining_at, now()) ELSE draining_at END
 WHERE id = :id AND gone_at IS NULL
RETURNING draining_at IS NOT NULL AS draining;

-- name: drain^
-- It takes no more work.
UPDATE worker SET draining_at = COALESCE(draining_at, now()) WHERE id = :id AND gone_at IS NULL
RETURNING id;

-- name: resume^
-- It takes work again.
UPDATE worker SET draining_at = NULL WHERE id = :id AND gone_at IS NULL
RETURNING id;

-- name: mark_gone!
-- It ended by itself, or someone saw that it is dead.
UPDATE worker SET gone_at = now() WHERE id = ANY (:ids::text[]) AND gone_at IS NULL;

-- name: list_on_host
-- Those that are said to live on a machine.
SELECT id, process FROM worker WHERE host = :host AND gone_at IS NULL;

-- name: mark_silent_gone
-- Silent for too long.
UPDATE worker SET gone_at = now()
 WHERE gone_at IS NULL AND seen_at < now() - make_interval(secs => :silent_s)
RETURNING id;

-- name: list_alive
-- Those that live, also if they drain.
SELECT id, host, slots, languages, versions, busy, cycle_s, started_at, seen_at, draining_at FROM worker
 WHERE gone_at IS NULL AND seen_at > now() - make_interval(secs => :silent_s)
 ORDER BY id;

-- name: rate_per_s^
-- How many submissions a second they get done when there is always one to do (A4).
SELECT COALESCE(sum(slots), 0)::int AS slots,
       sum(slots / cycle_s)::float AS per_s
  FROM worker
 WHERE gone_at IS NULL AND draining_at IS NULL AND seen_at > now() - make_interval(secs => :silent_s);

-- name: trim!
-- Gone long ago.
DELETE FROM worker WHERE gone_at < now() - make_interval(secs => :older_than_s);
