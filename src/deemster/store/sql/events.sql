-- name: current_snapshot$
-- Which transactions are done, and which are not yet.
SELECT pg_current_snapshot()::text;

-- name: changed_since
-- Whose events can be seen now and could not be seen then: their transactions had not begun, or had not
-- ended. Asked for like this, one that stays open for an hour costs no look at all events of that hour. At
-- least one row, for the snapshot.
SELECT n.snapshot, e.submission_id, e.xact,
       (SELECT s.account_id FROM submission s WHERE s.id = e.submission_id) AS account_id
  FROM (SELECT pg_current_snapshot()::text AS snapshot) n
  LEFT JOIN (SELECT submission_id, xact FROM submission_event
              WHERE xact >= pg_snapshot_xmax(:seen::text::pg_snapshot)
              UNION ALL
             SELECT submission_id, xact FROM submission_event
              WHERE xact = ANY (ARRAY(SELECT pg_snapshot_xip(:seen::text::pg_snapshot)))) e ON true;

-- name: list_after
-- Events after a mark, of transactions before another, in the one order in which none is missed.
SELECT * FROM told_event
 WHERE (xact, id) > (:xact::xid8, :id::bigint) AND xact < :before::xid8
   AND (:contest::text IS NULL OR contest_id = :contest)
 ORDER BY xact, id
 LIMIT :limit;

-- name: list_of_account
-- The same of one account. Found first and sorted then: what an old mark costs depends on the account's own
-- events, not on everyone's.
WITH own AS MATERIALIZED (
    SELECT * FROM told_event
     WHERE account_id = :account
       AND (:contest::text IS NULL OR contest_id = :contest)
       AND (:with_staged::bool OR NOT staged)
       AND (xact, id) > (:xact::xid8, :id::bigint) AND xact < :before::xid8
)
SELECT * FROM own ORDER BY xact, id LIMIT :limit;

-- name: list_of_submissions
-- All of some submissions. Their ids are in order: each was given under the submission's lock.
SELECT * FROM told_event WHERE submission_id = ANY (:submissions::text[]) ORDER BY id;

-- name: running_progress
-- How far those are that run.
SELECT submission_id, cases_done, cases_total FROM lease
 WHERE submission_id = ANY (:submissions::text[]) AND cases_total > 0;

-- name: reset_future_transactions!
-- Events of another server's transactions, restored into this one, are before all of its own.
UPDATE submission_event SET xact = '1'
 WHERE id IN (SELECT id FROM submission_event
               WHERE xact >= pg_snapshot_xmax(pg_current_snapshot()) ORDER BY xact, id LIMIT :limit);
