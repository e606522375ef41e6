-- name: read_live_stats^
-- How the service does, at a glance; `newest` is where the next look goes on counting.
SELECT (SELECT count(*) FROM submission WHERE state IN ('PENDING', 'QUEUED')) AS waiting,
       (SELECT count(*) FROM submission WHERE state = 'RUNNING') AS running,
       e.judged, e.newest, w.workers, w.slots
  FROM (SELECT count(*) FILTER (WHERE event IN ('complete', 'fail')) AS judged,
               COALESCE(max(id), :after::bigint) AS newest
          FROM submission_event WHERE id > :after::bigint) e,
       (SELECT count(*) AS workers, COALESCE(sum(slots), 0)::int AS slots
          FROM worker WHERE gone_at IS NULL AND seen_at > now() - make_interval(secs => :silent_s)) w;

-- name: newest_event$
-- Of all events, the last.
SELECT COALESCE(max(id), 0) FROM submission_event;
