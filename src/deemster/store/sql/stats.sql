-- name: read_queue_counts^
-- Counts submissions that wait or run, and how long the oldest has waited.
SELECT count(*) FILTER (WHERE state = 'PENDING') AS pending,
       count(*) FILTER (WHERE state = 'QUEUED') AS queued,
       (SELECT count(*) FROM submission WHERE state = 'RUNNING') AS running,
       extract(epoch FROM now() - min(submitted_at))::float AS oldest_s
  FROM submission WHERE state IN ('PENDING', 'QUEUED');

-- name: read_live_stats^
-- Counts submissions and workers; `newest` is the event where the next call continues.
SELECT (SELECT count(*) FROM submission WHERE state IN ('PENDING', 'QUEUED')) AS waiting,
       (SELECT count(*) FROM submission WHERE state = 'RUNNING') AS running,
       e.judged, e.newest, w.workers, w.slots
  FROM (SELECT count(*) FILTER (WHERE event IN ('complete', 'fail')) AS judged,
               COALESCE(max(id), :after::bigint) AS newest
          FROM work_event WHERE id > :after::bigint) e,
       (SELECT count(*) AS workers, COALESCE(sum(slots), 0)::int AS slots
          FROM worker WHERE gone_at IS NULL AND seen_at > now() - make_interval(secs => :silent_s)) w;

-- name: newest_event$
-- The id of the last event.
SELECT COALESCE(max(id), 0) FROM work_event;

-- name: read_gauges^
-- Counts what must not pile up; each count uses an index of its own.
SELECT (SELECT count(*) FROM submission WHERE state IN ('PENDING', 'QUEUED')) AS waiting,
       (SELECT count(*) FROM submission WHERE state = 'RUNNING') AS running,
       (SELECT count(*) FROM work WHERE stages IS NOT NULL) AS in_stages,
       (SELECT count(*) FROM dead_letter WHERE outcome IS NULL) AS dead_letters,
       (SELECT count(*) FROM outbox WHERE sent_at IS NULL) AS outbox_unsent,
       (SELECT COALESCE(jsonb_object_agg(kind, waited_s), '{}')
          FROM (SELECT kind, extract(epoch FROM now() - min(submitted_at))::float AS waited_s
                  FROM work WHERE state IN ('PENDING', 'QUEUED') GROUP BY kind) o) AS oldest_waits_s,
       h.webhooks_waiting, h.webhooks_retrying, h.webhooks_overdue_s,
       (SELECT count(*) FROM webhook_delivery
         WHERE ended_at > now() - interval '1 day' AND state = 'failed') AS webhooks_failed,
       w.workers, w.draining, w.slots, w.busy
  FROM (SELECT count(*) AS workers, count(draining_at) AS draining,
               COALESCE(sum(slots) FILTER (WHERE draining_at IS NULL), 0)::int AS slots,
               COALESCE(sum(busy), 0)::int AS busy
          FROM worker WHERE gone_at IS NULL AND seen_at > now() - make_interval(secs => :silent_s)) w,
       (SELECT count(*) FILTER (WHERE tries = 0) AS webhooks_waiting,
               count(*) FILTER (WHERE tries > 0) AS webhooks_retrying,
               GREATEST(0, extract(epoch FROM now() - min(available_at) FILTER (
                   WHERE claimed_until IS NULL OR claimed_until < now())))::float AS webhooks_overdue_s
          FROM webhook_delivery WHERE state = 'waiting') h;
