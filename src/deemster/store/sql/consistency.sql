-- name: count_rows^
-- Counts the rows that accepted submissions must have: each its row, event and job (Q2).
WITH mine AS MATERIALIZED (
    SELECT id, state, source FROM submission WHERE id = ANY (:ids::text[])
)
SELECT (SELECT count(*) FROM mine) AS rows,
       (SELECT count(*) FROM mine JOIN work_event e ON e.work_id = mine.id
         WHERE e.event = 'submit') AS events,
       (SELECT count(*) FROM mine JOIN outbox o ON o.work_id = mine.id
         WHERE o.dispatch = 1 AND o.task = 'submission:run') AS jobs,
       (SELECT count(*) FROM mine JOIN artifact a ON a.digest = mine.source) AS sources,
       (SELECT count(*) FROM mine WHERE state = 'COMPLETED') AS judged,
       (SELECT count(*) FROM mine WHERE state IN ('FAILED', 'CANCELLED')) AS unjudged,
       (SELECT count(*) FROM mine JOIN work_event e ON e.work_id = mine.id
         WHERE e.event IN ('complete', 'fail', 'cancel')) AS ends;

-- name: count_unended$
-- Counts how many of these submissions have not ended, cheaply.
SELECT count(*) FROM work WHERE id = ANY (:ids::text[]) AND finished_at IS NULL;

-- name: list_waiting
-- Lists the ids that wait, in the order of the queue.
SELECT id FROM submission WHERE state IN ('PENDING', 'QUEUED') ORDER BY priority, id LIMIT :limit;

-- name: list_starts
-- Lists when judging started, in that order.
SELECT id, extract(epoch FROM started_at)::float AS started_s FROM submission
 WHERE started_at >= to_timestamp(:since_s) ORDER BY started_at, id;

-- name: judged_s$
-- Returns the seconds from the first start of these submissions to their last verdict.
SELECT extract(epoch FROM max(finished_at) - min(started_at))::float FROM submission
 WHERE id = ANY (:ids::text[]);

-- name: last_end_s$
-- Tells when the last of these submissions ended.
SELECT extract(epoch FROM max(finished_at))::float FROM work WHERE id = ANY (:ids::text[]);

-- name: list_commits
-- Lists when the events that ended submissions and executions were committed; needs track_commit_timestamp.
SELECT work_id, extract(epoch FROM pg_xact_commit_timestamp(xact::xid))::float AS committed_s
  FROM work_event
 WHERE work_id = ANY (:ids::text[]) AND event IN ('complete', 'fail', 'cancel');

-- name: list_in_stages
-- Lists submissions whose verdict is known and whose stages have not ended, with the present one.
SELECT id, attempt, stages[1] AS stage FROM work WHERE stages IS NOT NULL;

-- name: list_waits
-- Lists when submissions came and started, and whether they are of one account.
SELECT a.name = :hog AS of_hog, extract(epoch FROM s.submitted_at)::float AS submitted_s,
       COALESCE(extract(epoch FROM s.started_at), 0)::float AS started_s
  FROM submission s JOIN account a ON a.id = s.account_id
 WHERE s.submitted_at >= to_timestamp(:since_s);

-- name: database_activity^
-- Reads how many transactions the server has committed, and how often it has synced its log; since version 18.
SELECT (SELECT sum(xact_commit) FROM pg_stat_database)::bigint AS transactions,
       (SELECT sum(fsyncs) FROM pg_stat_io WHERE object = 'wal')::bigint AS log_syncs;
