-- name: register!
-- Adds a worker that starts.
INSERT INTO worker (id, host, process, slots, languages, versions)
VALUES (:id, :host, :process, :slots, :languages, :versions);

-- name: update_languages!
-- Updates the languages of a worker.
UPDATE worker SET languages = :languages, versions = :versions WHERE id = :id AND gone_at IS NULL;

-- name: heartbeat^
-- Records that a worker is alive; returns whether it is to drain.
UPDATE worker
   SET seen_at = now(), busy = :busy, cycle_s = :cycle_s,
       stage_counts = COALESCE(:stage_counts::jsonb, stage_counts),
       draining_at = CASE WHEN :ending::bool THEN COALESCE(draining_at, now()) ELSE draining_at END
 WHERE id = :id AND gone_at IS NULL
RETURNING draining_at IS NOT NULL AS draining;

-- name: drain^
-- Tells a worker to take no more work.
UPDATE worker SET draining_at = COALESCE(draining_at, now()) WHERE id = :id AND gone_at IS NULL
RETURNING id;

-- name: resume^
-- Tells a worker to take work again, unless it is that of a paused judge host.
UPDATE worker w
   SET draining_at = CASE WHEN EXISTS (SELECT FROM judge_host h WHERE h.id = w.judge_host_id AND h.paused_at IS NOT NULL)
                          THEN draining_at END
 WHERE id = :id AND gone_at IS NULL
RETURNING id;

-- name: mark_gone!
-- Marks workers as gone: they ended, or were seen to be dead.
UPDATE worker SET gone_at = now() WHERE id = ANY (:ids::text[]) AND gone_at IS NULL;

-- name: list_on_host
-- Lists workers with that host name that are not marked as gone, and whether they are silent; judge hosts are other machines.
SELECT id, process, seen_at < now() - make_interval(secs => :silent_s) AS is_silent FROM worker
 WHERE host = :host AND judge_host_id IS NULL AND gone_at IS NULL;

-- name: mark_silent_gone
-- Marks workers as gone that have been silent too long.
UPDATE worker SET gone_at = now()
 WHERE gone_at IS NULL AND seen_at < now() - make_interval(secs => :silent_s)
RETURNING id;

-- name: list_alive
-- Lists workers that are alive, including those that drain.
SELECT id, host, slots, languages, versions, busy, cycle_s, started_at, seen_at, draining_at FROM worker
 WHERE gone_at IS NULL AND seen_at > now() - make_interval(secs => :silent_s)
 ORDER BY id;

-- name: list_languages
-- Lists the languages of workers and judge hosts that are alive.
SELECT judge_host_id IS NOT NULL AS is_judge_host, languages FROM worker
 WHERE gone_at IS NULL AND seen_at > now() - make_interval(secs => :silent_s);

-- name: stage_counts
-- Reads what workers that are alive counted.
SELECT id, stage_counts FROM worker
 WHERE gone_at IS NULL AND seen_at > now() - make_interval(secs => :silent_s) AND stage_counts <> '{}'
 ORDER BY id;

-- name: rate_per_s^
-- Sums how many submissions per second the workers finish when always busy (A4).
SELECT COALESCE(sum(slots), 0)::int AS slots,
       sum(slots / cycle_s)::float AS per_s
  FROM worker
 WHERE gone_at IS NULL AND draining_at IS NULL AND seen_at > now() - make_interval(secs => :silent_s);

-- name: trim!
-- Deletes workers that went long ago.
DELETE FROM worker WHERE gone_at < now() - make_interval(secs => :older_than_s);
