-- name: current_snapshot$
-- Reads which transactions have ended.
SELECT pg_current_snapshot()::text;

-- name: changed_since
-- Lists events that are visible now and were not in the snapshot `seen`: their transactions had not
-- started, or not ended. This way a transaction that stays open for an hour does not make each call read all
-- events of that hour. There is at least one row, for the new snapshot.
SELECT n.snapshot, e.work_id, e.xact, e.state,
       (SELECT s.account_id FROM work s WHERE s.id = e.work_id) AS account_id
  FROM (SELECT pg_current_snapshot()::text AS snapshot) n
  LEFT JOIN (SELECT work_id, xact, state FROM work_event
              WHERE xact >= pg_snapshot_xmax(:seen::text::pg_snapshot)
              UNION ALL
             SELECT work_id, xact, state FROM work_event
              WHERE xact = ANY (ARRAY(SELECT pg_snapshot_xip(:seen::text::pg_snapshot)))) e ON true;

-- name: list_after
-- Lists events of submissions after a cursor, of transactions before `before`, in the order that misses none.
SELECT * FROM told_event
 WHERE (xact, id) > (:xact::xid8, :id::bigint) AND xact < :before::xid8
   AND (:contest::text IS NULL OR contest_id = :contest)
   AND problem_id IS NOT NULL
 ORDER BY xact, id
 LIMIT :limit;

-- name: list_of_account
-- Lists the same for one account. Filtered before sorted: the cost of an old cursor depends on the
-- account's own events, not on everyone's.
WITH own AS MATERIALIZED (
    SELECT * FROM told_event
     WHERE account_id = :account AND problem_id IS NOT NULL
       AND (:contest::text IS NULL OR contest_id = :contest)
       AND (:with_staged::bool OR NOT staged)
       AND (xact, id) > (:xact::xid8, :id::bigint) AND xact < :before::xid8
)
SELECT * FROM own ORDER BY xact, id LIMIT :limit;

-- name: list_of_work
-- Lists all events of some submissions or executions. Their ids are in order: each was assigned under its row's lock.
SELECT * FROM told_event WHERE work_id = ANY (:works::text[]) ORDER BY id;

-- name: running_progress
-- Reads the progress of running submissions.
SELECT work_id, cases_done, cases_total, cases FROM lease
 WHERE work_id = ANY (:works::text[]) AND cases_total > 0;

-- name: reset_future_transactions!
-- Moves events with restored transaction numbers before all of this server's own.
UPDATE work_event SET xact = '1'
 WHERE id IN (SELECT id FROM work_event
               WHERE xact >= pg_snapshot_xmax(pg_current_snapshot()) ORDER BY xact, id LIMIT :limit);
