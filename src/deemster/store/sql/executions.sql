-- name: insert_rows
-- Inserts executions with their outbox rows and events (Q2). One whose key is taken is missing in the answer (I1).
-- A user's n-th waiting execution comes after everyone's earlier ones, up to a bound.
WITH requested AS (
    SELECT * FROM unnest(:ids::text[], :accounts::text[], :languages::text[], :mains::text[], :files::bytea[],
                         :stdins::bytea[], :args::text[], :ios::text[], :limits::jsonb[], :options::jsonb[],
                         :clients::jsonb[], :first_priorities::int[], :ahead::int[], :keys::text[],
                         :digests::bytea[], :webhooks::text[], :webhook_formats::text[], :sessions::text[])
        AS a (id, account_id, language, main, files, stdin, args, io, limits, options, client, first_priority,
              ahead, idempotency_key, request_digest, webhook_url, webhook_format, session_id)
), inserted AS (
    INSERT INTO work (id, kind, account_id, language, main, priority, idempotency_key, request_digest, webhook_url,
                      webhook_format)
    SELECT id, 'execution', account_id, language, main,
           first_priority + LEAST(:max_ahead::int, ahead + (
               SELECT count(*) FROM (
                   SELECT FROM work w
                    WHERE w.account_id = requested.account_id AND w.attempt = 0 AND w.finished_at IS NULL
                      AND w.rejudge_of IS NULL AND w.kind = 'execution'
                    LIMIT :max_ahead::int) waiting))::int,
           idempotency_key, request_digest, webhook_url, webhook_format
      FROM requested ORDER BY account_id, idempotency_key
    ON CONFLICT (account_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
 RETURNING id, submitted_at
), details AS (
    INSERT INTO execution (work_id, session_id, files, stdin, args, io, limits, options, client)
    SELECT r.id, r.session_id, r.files, r.stdin, ARRAY(SELECT jsonb_array_elements_text(r.args::jsonb)), r.io, r.limits,
           r.options, r.client
      FROM requested r JOIN inserted USING (id)
), new_events AS (
    INSERT INTO work_event (work_id, event, state, attempt)
    SELECT id, 'submit', 'PENDING', 0 FROM inserted
), new_jobs AS (
    INSERT INTO outbox (work_id, task, dispatch, attempt)
    SELECT id, 'execution:run', 1, 0 FROM inserted
)
SELECT id, submitted_at FROM inserted;

-- name: find_by_key^
-- Finds the work that a key was used for (I1), with the digest of its request (I2).
SELECT id, submitted_at, request_digest FROM work WHERE account_id = :account AND idempotency_key = :key;

-- name: details^
-- Reads what a worker needs to start.
SELECT w.id, w.state, w.attempt, w.account_id, w.language, w.main, x.files, x.stdin, x.args, x.io, x.limits,
       x.options, extract(epoch FROM now() - w.submitted_at)::float AS age_s
  FROM work w JOIN execution x ON x.work_id = w.id
 WHERE w.id = :id;

-- name: record_compile!
-- Stores what the compiler said while the attempt still runs.
UPDATE execution x SET compile = :compile
  FROM work w
 WHERE x.work_id = :id AND w.id = x.work_id AND w.attempt = :attempt AND w.state = 'RUNNING';

-- name: record_result!
-- Stores the result of an attempt that the same transaction ends, and output that was not stored before.
WITH new_output AS (
    INSERT INTO execution_output (work_id, attempt, number, stream, at_ms, content)
    SELECT :id, :attempt, c.* FROM unnest(:numbers::int[], :streams::smallint[], :at_ms::int[], :contents::bytea[]) c
    ON CONFLICT DO NOTHING
)
UPDATE execution
   SET status = :status, exit_code = :exit_code, signal = :signal, cpu_ms = :cpu_ms, wall_ms = :wall_ms,
       memory_kb = :memory_kb, stdout_truncated = :stdout_truncated, stderr_truncated = :stderr_truncated,
       compile = :compile, returned_files = :returned_files
 WHERE work_id = :id;

-- name: get^
-- Reads one execution with everything but its output and its source.
SELECT w.*, a.name AS account_name, x.args, x.io, x.limits, x.options, x.client, x.session_id, x.status, x.exit_code,
       x.signal, x.cpu_ms, x.wall_ms, x.memory_kb AS used_kb, x.stdout_truncated, x.stderr_truncated, x.compile,
       x.returned_files
  FROM work w
  JOIN execution x ON x.work_id = w.id
  JOIN account a ON a.id = w.account_id
 WHERE w.id = :id;

-- name: page
-- Lists executions of users' programs, without what they returned, newest first, starting before one.
SELECT w.*, a.name AS account_name, x.args, x.io, x.limits, x.options, x.client, x.session_id, x.status, x.exit_code,
       x.signal, x.cpu_ms, x.wall_ms, x.memory_kb AS used_kb, x.stdout_truncated, x.stderr_truncated, x.compile,
       NULL AS returned_files
  FROM work w
  JOIN execution x ON x.work_id = w.id
  JOIN account a ON a.id = w.account_id
 WHERE w.kind = 'execution'
   AND (:account::text IS NULL OR w.account_id = :account)
   AND (:session::text IS NULL OR x.session_id = :session)
   AND (:before::text IS NULL OR w.id < :before)
   AND x.io <> 'language_server'
 ORDER BY w.id DESC
 LIMIT :limit;

-- name: ids_of_api
-- Lists the ids of executions that came by one compatible API, newest first.
SELECT x.work_id AS id FROM execution x WHERE x.client ->> 'api' = :api ORDER BY x.work_id DESC LIMIT :limit OFFSET :offset;

-- name: count_of_api$
-- Counts executions that came by one compatible API.
SELECT count(*) FROM execution x WHERE x.client ->> 'api' = :api;

-- name: count_waiting$
-- Counts executions that have not been started.
SELECT count(*) FROM work WHERE kind = 'execution' AND state IN ('PENDING', 'QUEUED');

-- name: count_live$
-- Counts the unfinished executions of an account whose input is typed.
SELECT count(*) FROM work w JOIN execution x ON x.work_id = w.id
 WHERE w.account_id = :account AND w.kind = 'execution' AND w.finished_at IS NULL AND x.io IN ('streams', 'terminal');

-- name: unfinished_language_servers
-- Lists the unfinished language servers of an account, the newest first.
SELECT w.id FROM work w JOIN execution x ON x.work_id = w.id
 WHERE w.account_id = :account AND w.kind = 'execution' AND w.finished_at IS NULL AND x.io = 'language_server'
 ORDER BY w.submitted_at DESC, w.id DESC;

-- name: source^
-- Reads the source and the input of an execution.
SELECT files, stdin FROM execution WHERE work_id = :id;

-- name: add_output!
-- Stores chunks of output, of one or more executions. Chunks of executions that were deleted are dropped; the lock
-- keeps the others from being deleted in between.
INSERT INTO execution_output (work_id, attempt, number, stream, at_ms, content)
SELECT c.* FROM unnest(:ids::text[], :attempts::int[], :numbers::int[], :streams::smallint[], :at_ms::int[],
                       :contents::bytea[]) AS c (work_id, attempt, number, stream, at_ms, content)
 WHERE EXISTS (SELECT FROM work w WHERE w.id = c.work_id FOR KEY SHARE)
ON CONFLICT DO NOTHING;

-- name: output_room$
-- Bytes of output that an attempt may still store, of both streams together.
SELECT 2 * (x.limits->>'output_bytes')::bigint
       - coalesce((SELECT sum(octet_length(o.content)) FROM execution_output o
                    WHERE o.work_id = x.work_id AND o.attempt = :attempt), 0)::bigint
  FROM execution x WHERE x.work_id = :id;

-- name: output_after
-- Lists chunks of the last attempt, after one; an older attempt's output no longer counts.
SELECT o.attempt, o.number, o.stream, o.at_ms, o.content
  FROM execution_output o JOIN work w ON w.id = o.work_id AND w.attempt = o.attempt
 WHERE o.work_id = :id AND (o.attempt > :attempt::int OR o.number > :number::int)
 ORDER BY o.number
 LIMIT :limit;

-- name: whole_output
-- Joins the output of the last attempt of an execution, by stream.
SELECT o.stream, string_agg(o.content, ''::bytea ORDER BY o.number) AS content
  FROM execution_output o JOIN work w ON w.id = o.work_id AND w.attempt = o.attempt
 WHERE o.work_id = :id
 GROUP BY o.stream;

-- name: add_input$
-- Stores what was typed while the execution has not ended, and wakes its worker. The row of the execution counts it;
-- its lock also makes ids visible in their order, so that the worker misses none. No row: the execution has ended, it
-- has as much input as it may have, or the key was used.
WITH unfinished AS (
    SELECT id FROM work WHERE id = :id AND finished_at IS NULL FOR KEY SHARE
), counted AS (
    UPDATE execution x SET input_bytes = x.input_bytes + octet_length(:content::bytea) + :row_bytes::int
      FROM unfinished u
     WHERE x.work_id = u.id AND x.input_bytes + octet_length(:content::bytea) + :row_bytes::int <= :max_bytes::bigint
 RETURNING x.work_id
), typed AS (
    INSERT INTO execution_input (work_id, kind, content, key)
    SELECT work_id, :kind, :content::bytea, :key::text FROM counted
    ON CONFLICT (work_id, key) WHERE key IS NOT NULL DO NOTHING
 RETURNING id
)
SELECT id FROM typed, pg_notify(:channel, :id);

-- name: input_of_key^
-- Reads what was typed with a key.
SELECT kind, content FROM execution_input WHERE work_id = :id AND key = :key;

-- name: input_after
-- Lists what was typed after a moment.
SELECT id, kind, content FROM execution_input WHERE work_id = :id AND id > :after::bigint ORDER BY id LIMIT :limit;

-- name: resizes
-- Lists the sizes that the terminal of an execution got, in order.
SELECT at, content FROM execution_input WHERE work_id = :id AND kind = 'resize' ORDER BY id LIMIT :limit;

-- name: delete_ended$
-- Deletes executions that ended long ago, with everything that belongs to them; returns how many.
WITH gone AS (
    DELETE FROM work WHERE id = ANY (ARRAY(
        SELECT id FROM work WHERE kind = 'execution' AND finished_at < now() - make_interval(secs => :older_than_s)
         ORDER BY finished_at LIMIT :limit))
    RETURNING id
)
SELECT count(*) FROM gone;

-- name: delete_one!
-- Deletes an execution that has ended.
DELETE FROM work WHERE id = :id AND kind = 'execution' AND finished_at IS NOT NULL;
