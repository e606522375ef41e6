-- name: list_rooms
-- Lists the hosts that could take a task now, the best first: one that has not had this work before, then one with a
-- free slot, one that has the test data, the most free slots, the highest speed. A task whose result has arrived no
-- longer occupies its slot. A host may have some tasks more than slots.
SELECT w.id AS worker_id, w.judge_host_id AS host_id, w.address, w.speed
  FROM worker w
  JOIN judge_host h ON h.id = w.judge_host_id
 CROSS JOIN LATERAL (
     SELECT CASE WHEN :executes::bool THEN w.execution_slots ELSE w.slots END - count(*) AS free
       FROM remote_task t
       JOIN lease l ON l.work_id = t.work_id AND l.attempt = t.attempt AND l.worker_id = t.worker_id
      WHERE t.worker_id = w.id AND t.ended_at IS NULL AND (t.task = 'execution:run') = :executes::bool
        AND NOT EXISTS (SELECT FROM host_message m WHERE m.judge_id = t.judge_id)) room
 WHERE w.gone_at IS NULL AND w.draining_at IS NULL AND h.paused_at IS NULL AND h.revoked_at IS NULL
   AND w.seen_at > now() - make_interval(secs => :fresh_s)
   AND :language = ANY (w.languages) AND NOT w.judge_host_id = ANY (:excluded::text[]) AND room.free > -:ahead::int
 ORDER BY EXISTS (SELECT FROM remote_task t WHERE t.work_id = :work AND t.host_id = w.judge_host_id),
          room.free <= 0, (:revision::text = ANY (w.data)) DESC NULLS LAST, room.free DESC, w.speed DESC NULLS LAST, w.id
 LIMIT 1;

-- name: count_blocking$
-- Counts work that waits and needs this language and slots for this kind of work; without a row if no host could take
-- other work that waits.
WITH waiting AS (
    SELECT s.language, s.kind = 'execution' AS executes, count(*) AS jobs FROM work s
     WHERE s.state IN ('PENDING', 'QUEUED')
       AND (s.kind <> 'execution' OR (SELECT x.io FROM execution x WHERE x.work_id = s.id) = 'batch')
     GROUP BY 1, 2
     UNION ALL
    SELECT s.language, false, count(*) FROM work s
     WHERE s.stages IS NOT NULL AND s.stages[1] = 'submission:analyze'
       AND NOT EXISTS (SELECT FROM lease l WHERE l.work_id = s.id)
     GROUP BY 1
), blocking AS (
    SELECT COALESCE(sum(jobs), 0)::int AS jobs FROM waiting
     WHERE language = :language AND executes = :executes::bool
)
SELECT jobs FROM blocking
 WHERE EXISTS (
    SELECT FROM waiting
      JOIN worker w ON waiting.language = ANY (w.languages)
      JOIN judge_host h ON h.id = w.judge_host_id
     WHERE w.gone_at IS NULL AND w.draining_at IS NULL AND h.paused_at IS NULL AND h.revoked_at IS NULL
       AND w.seen_at > now() - make_interval(secs => :fresh_s) AND NOT w.judge_host_id = ANY (:excluded::text[])
       AND NOT (waiting.language = :language AND waiting.executes = :executes::bool)
       AND (SELECT count(*) FROM remote_task t
              JOIN lease l ON l.work_id = t.work_id AND l.attempt = t.attempt AND l.worker_id = t.worker_id
             WHERE t.worker_id = w.id AND t.ended_at IS NULL AND (t.task = 'execution:run') = waiting.executes
               AND NOT EXISTS (SELECT FROM host_message m WHERE m.judge_id = t.judge_id))
           < CASE WHEN waiting.executes THEN w.execution_slots ELSE w.slots + :ahead::int END);

-- name: count_hosts_with^
-- Counts live hosts that have a language, whether they have room or not; and free slots of local workers.
SELECT count(*) FILTER (WHERE w.judge_host_id IS NOT NULL) AS hosts,
       COALESCE(sum(w.slots - w.busy) FILTER (WHERE w.judge_host_id IS NULL), 0)::int AS free_local,
       count(*) FILTER (WHERE w.judge_host_id IS NULL) AS local
  FROM worker w LEFT JOIN judge_host h ON h.id = w.judge_host_id
 WHERE w.gone_at IS NULL AND w.draining_at IS NULL AND h.paused_at IS NULL AND h.revoked_at IS NULL
   AND w.seen_at > now() - make_interval(secs => :silent_s) AND :language = ANY (w.languages);

-- name: register^
-- Registers a judge id before its task is sent (M2), and wakes the request of a host that waits for tasks.
WITH registered AS (
    INSERT INTO remote_task (judge_id, work_id, attempt, task, purpose, host_id, worker_id)
    VALUES (:judge, :work, :attempt, :task, :purpose, :host, :worker)
    RETURNING number
)
SELECT number, CASE WHEN :fetches::bool THEN pg_notify(:channel, :worker::text) END FROM registered;

-- name: remove!
-- Removes a judge id whose task could not be sent (M2).
DELETE FROM remote_task WHERE judge_id = :judge;

-- name: mark_sent!
-- Marks a task as sent.
UPDATE remote_task SET sent_at = now() WHERE judge_id = :judge;

-- name: claim
-- Takes tasks that a host has not got yet and that are still its own.
UPDATE remote_task t SET sent_at = now()
  FROM lease l, worker w
 WHERE t.worker_id = :worker AND t.host_id = :host AND t.sent_at IS NULL AND t.ended_at IS NULL
   AND l.work_id = t.work_id AND l.attempt = t.attempt AND l.worker_id = t.worker_id AND w.id = t.worker_id
RETURNING t.judge_id, t.number, t.work_id, t.attempt, t.task, t.purpose, t.host_id, t.worker_id, w.speed;

-- name: get^
-- Reads a task, and whether its work still waits for its result.
SELECT t.judge_id, t.number, t.work_id, t.attempt, t.task, t.purpose, t.host_id, t.worker_id,
       t.ended_at IS NOT NULL AS is_ended,
       EXISTS (SELECT FROM host_message m WHERE m.judge_id = t.judge_id) AS is_reported,
       EXISTS (SELECT FROM lease l WHERE l.work_id = t.work_id AND l.attempt = t.attempt
                  AND l.worker_id = t.worker_id) AS is_current
  FROM remote_task t WHERE t.judge_id = :judge;

-- name: report^
-- Stores the result of a task that a host has, once, with the job that settles it, and wakes relay and dispatchers.
WITH task AS (
    SELECT t.judge_id, t.work_id, t.attempt, t.number FROM remote_task t
      JOIN lease l ON l.work_id = t.work_id AND l.attempt = t.attempt AND l.worker_id = t.worker_id
     WHERE t.judge_id = :judge AND t.work_id = :work AND t.host_id = :host AND t.ended_at IS NULL
), stored AS (
    INSERT INTO host_message (judge_id, body) SELECT judge_id, :body::bytea FROM task
    ON CONFLICT DO NOTHING
    RETURNING judge_id
), queued AS (
    INSERT INTO outbox (work_id, task, dispatch, attempt)
    SELECT t.work_id, :receiving::text, t.number, t.attempt FROM task t JOIN stored s ON s.judge_id = t.judge_id
)
SELECT pg_notify(:outbox_channel, ''), pg_notify(:room_channel, '') FROM stored;

-- name: find_result^
-- Reads a task by its number, which its job carries, with its result, if that is not settled yet.
SELECT t.judge_id, t.number, t.work_id, t.attempt, t.task, t.purpose, t.host_id, t.worker_id, m.body
  FROM remote_task t JOIN host_message m ON m.judge_id = t.judge_id
 WHERE t.number = :number AND t.ended_at IS NULL;

-- name: end$
-- Ends a task, once, and forgets its message.
WITH ended AS (
    UPDATE remote_task SET ended_at = now(), verdict = :verdict::text
     WHERE judge_id = :judge AND ended_at IS NULL
 RETURNING judge_id
), gone AS (
    DELETE FROM host_message m USING ended e WHERE m.judge_id = e.judge_id
)
SELECT count(*) = 1 FROM ended;

-- name: end_silent_checks
-- If a host that checks the result of another is gone or silent, ends its task and gives the lease back to a host that
-- has reported.
WITH silent AS (
    SELECT l.work_id, l.attempt, l.worker_id, r.worker_id AS reporter
      FROM lease l
      LEFT JOIN worker w ON w.id = l.worker_id
     CROSS JOIN LATERAL (SELECT t.worker_id FROM remote_task t JOIN host_message m ON m.judge_id = t.judge_id
                          WHERE t.work_id = l.work_id AND t.attempt = l.attempt AND t.ended_at IS NULL
                          ORDER BY t.number LIMIT 1) r
     WHERE (l.beat_at < now() - make_interval(secs => l.lease_s) OR w.gone_at IS NOT NULL)
       AND NOT EXISTS (SELECT FROM remote_task t JOIN host_message m ON m.judge_id = t.judge_id
                        WHERE t.work_id = l.work_id AND t.attempt = l.attempt AND t.worker_id = l.worker_id
                          AND t.ended_at IS NULL)
), ended AS (
    UPDATE remote_task t SET ended_at = now() FROM silent s
     WHERE t.work_id = s.work_id AND t.attempt = s.attempt AND t.worker_id = s.worker_id AND t.ended_at IS NULL
)
UPDATE lease l SET worker_id = s.reporter, beat_at = now() FROM silent s
 WHERE l.work_id = s.work_id AND l.attempt = s.attempt AND l.worker_id = s.worker_id
RETURNING l.work_id;

-- name: list_unsettled
-- Lists numbers of tasks whose results have waited for a while, unless another host has the lease: then the results
-- wait for that host's.
SELECT t.number FROM host_message m JOIN remote_task t ON t.judge_id = m.judge_id
 WHERE m.received_at < now() - make_interval(secs => :older_than_s) AND t.ended_at IS NULL
   AND NOT EXISTS (SELECT FROM lease l WHERE l.work_id = t.work_id AND l.attempt = t.attempt
                      AND l.worker_id <> t.worker_id)
 ORDER BY m.received_at LIMIT :limit;

-- name: others_of
-- Lists the other tasks of the same attempt, with their results.
SELECT t.judge_id, t.purpose, t.host_id, t.ended_at IS NOT NULL AS is_ended, m.body
  FROM remote_task t LEFT JOIN host_message m ON m.judge_id = t.judge_id
 WHERE t.work_id = :work AND t.attempt = :attempt ORDER BY t.number;

-- name: move_lease$
-- Moves the lease of an attempt from a host that has reported to the host that judges it again.
UPDATE lease SET worker_id = :receiver, beat_at = now()
 WHERE work_id = :work AND attempt = :attempt AND worker_id = :holder
RETURNING true;

-- name: judged_by
-- Lists submissions that a host judged lately, newest first.
SELECT t.work_id, t.verdict, t.ended_at FROM remote_task t JOIN work w ON w.id = t.work_id
 WHERE t.host_id = :host AND t.ended_at >= now() - make_interval(secs => :within_s) AND t.verdict IS NOT NULL AND w.kind = 'submission'
 ORDER BY t.ended_at DESC LIMIT :limit;

-- name: trim!
-- Deletes tasks that ended long ago, or were made long ago and never ended. An index has the tasks of each host by
-- their end; one condition for both would read the whole table.
DELETE FROM remote_task WHERE judge_id = ANY (ARRAY(
    SELECT old.judge_id FROM judge_host h CROSS JOIN LATERAL (
        (SELECT t.judge_id FROM remote_task t
          WHERE t.host_id = h.id AND t.ended_at < now() - make_interval(secs => :older_than_s)
          ORDER BY t.ended_at LIMIT :limit)
        UNION ALL
        (SELECT t.judge_id FROM remote_task t
          WHERE t.host_id = h.id AND t.ended_at IS NULL
            AND t.created_at < now() - make_interval(secs => :older_than_s)
          LIMIT :limit)) old
     LIMIT :limit));

-- name: may_read$
-- Whether a host has an open task for a problem's test data, or judged with it a moment ago.
SELECT EXISTS (
    SELECT FROM remote_task t JOIN work w ON w.id = t.work_id
     WHERE t.judge_id = :judge AND t.host_id = :host AND t.ended_at IS NULL AND w.revision = :digest);
