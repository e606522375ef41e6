-- name: add!
-- Adds a set without its trials.
INSERT INTO rejudging (id, wanted, matched, reason, made_by)
VALUES (:id, :wanted, :matched, :reason, :made_by);

-- name: get^
-- Reads one rejudging.
SELECT r.*, a.name AS made_by_name FROM rejudging r LEFT JOIN account a ON a.id = r.made_by
 WHERE r.id = :id;

-- name: lock^
-- Reads and locks a rejudging, so that no other transaction stages, applies or drops it.
SELECT r.*, NULL AS made_by_name FROM rejudging r WHERE id = :id FOR NO KEY UPDATE;

-- name: page
-- Lists rejudgings, newest first, starting before one.
SELECT r.*, a.name AS made_by_name FROM rejudging r LEFT JOIN account a ON a.id = r.made_by
 WHERE :before::text IS NULL OR r.id < :before
 ORDER BY r.id DESC LIMIT :limit;

-- name: list_unstaged
-- Lists rejudgings whose maker may have died before all trials were created.
SELECT id FROM rejudging WHERE staged_at IS NULL AND outcome IS NULL ORDER BY id LIMIT :limit;

-- name: find_matching
-- Lists submissions for a rejudging, by id, starting after one: ended with a verdict or a failure, and not
-- archived. Those that end after the rejudging was created are not in it, even if they were judged by an
-- older revision: `outdated` finds them.
SELECT s.id, s.account_id AS account, s.problem_id AS problem, p.revision, s.language, s.main, s.source,
       (SELECT w.webhook_url FROM work w WHERE w.id = s.id AND w.webhook_format IS NULL) AS webhook_url,
       s.contest_id AS contest
  FROM submission s JOIN problem p ON p.id = s.problem_id
 WHERE s.archived_at IS NULL AND s.staged_in IS NULL AND s.example IS NULL
   AND s.state IN ('ANALYZING', 'AI_EVALUATING', 'COMPLETED', 'FAILED')
   AND (:problem::text IS NULL OR s.problem_id = :problem)
   AND (:contest::text IS NULL OR s.contest_id = :contest)
   AND (:verdict::text IS NULL OR s.verdict = :verdict)
   AND (:language::text IS NULL OR s.language = :language)
   AND (:account::text IS NULL OR s.account_id = :account)
   AND (:submitted_from::timestamptz IS NULL OR s.submitted_at >= :submitted_from)
   AND (:submitted_to::timestamptz IS NULL OR s.submitted_at < :submitted_to)
   AND (:ids::text[] IS NULL OR s.id = ANY (:ids))
   AND (:outdated::bool IS NULL OR s.revision <> p.revision)
   AND COALESCE(s.judged_at, s.finished_at) <= COALESCE(:ended_by::timestamptz, now())
   AND (:after::text IS NULL OR s.id > :after)
 ORDER BY s.id LIMIT :limit;

-- name: count_unfinished^
-- Counts submissions that match but have no verdict yet. Compares states, so that their indexes are used.
SELECT count(*) AS unended, count(*) FILTER (WHERE s.revision <> p.revision) AS outdated
  FROM submission s JOIN problem p ON p.id = s.problem_id
 WHERE (s.state IN ('PENDING', 'QUEUED') OR s.state = 'RUNNING') AND s.staged_in IS NULL AND s.example IS NULL
   AND (:problem::text IS NULL OR s.problem_id = :problem)
   AND (:contest::text IS NULL OR s.contest_id = :contest)
   AND (:language::text IS NULL OR s.language = :language)
   AND (:account::text IS NULL OR s.account_id = :account)
   AND (:submitted_from::timestamptz IS NULL OR s.submitted_at >= :submitted_from)
   AND (:submitted_to::timestamptz IS NULL OR s.submitted_at < :submitted_to)
   AND (:ids::text[] IS NULL OR s.id = ANY (:ids))
   AND (:outdated::bool IS NULL OR s.revision <> p.revision);

-- name: last_staged$
-- Trials are created in the order of their originals: staging continues after this one.
SELECT max(rejudge_of) FROM submission WHERE staged_in = :id;

-- name: mark_staged!
-- Records that all trials were created.
UPDATE rejudging SET staged_at = now() WHERE id = :id AND staged_at IS NULL;

-- name: finish$
-- Sets the outcome, applied or dropped, once.
UPDATE rejudging SET outcome = :outcome, settled_at = now(), settled_by = :settled_by
 WHERE id = :id AND outcome IS NULL
RETURNING id;

-- name: progress^
-- Counts the trials by state.
SELECT count(*) AS trials,
       count(*) FILTER (WHERE t.state IN ('PENDING', 'QUEUED')) AS waiting,
       count(*) FILTER (WHERE t.state IN ('RUNNING', 'ANALYZING', 'AI_EVALUATING')) AS running,
       count(*) FILTER (WHERE t.state = 'COMPLETED') AS done,
       count(*) FILTER (WHERE t.state = 'FAILED') AS failed,
       count(*) FILTER (WHERE t.state = 'CANCELLED') AS cancelled,
       count(*) FILTER (WHERE t.state = 'COMPLETED' AND t.staged_in IS NOT NULL
                          AND o.archived_at IS NOT NULL) AS overtaken,
       count(*) FILTER (WHERE t.applied_in IS NOT NULL) AS applied,
       count(*) FILTER (WHERE t.state = 'COMPLETED' AND t.verdict IS DISTINCT FROM o.verdict) AS verdicts_changed,
       count(*) FILTER (WHERE t.state = 'COMPLETED' AND t.score IS DISTINCT FROM o.score) AS scores_changed
  FROM submission t JOIN submission o ON o.id = t.rejudge_of
 WHERE t.staged_in = :id OR t.applied_in = :id;

-- name: verdict_matrix
-- Counts pairs of old and new verdicts; an old NULL is a failure of the judge.
SELECT o.verdict AS old, t.verdict AS new, count(*) AS pairs
  FROM submission t JOIN submission o ON o.id = t.rejudge_of
 WHERE (t.staged_in = :id OR t.applied_in = :id) AND t.state = 'COMPLETED'
 GROUP BY o.verdict, t.verdict ORDER BY count(*) DESC, o.verdict, t.verdict;

-- name: list_changes
-- Lists pairs that differ, and trials without a verdict, by the original's id.
SELECT o.id AS old, t.id AS new, o.account_id, a.name AS account_name, o.problem_id, t.state,
       o.verdict AS old_verdict, t.verdict AS new_verdict, o.score AS old_score, t.score AS new_score,
       t.applied_in IS NOT NULL AS applied,
       t.staged_in IS NOT NULL AND o.archived_at IS NOT NULL AS overtaken
  FROM submission t
  JOIN submission o ON o.id = t.rejudge_of
  JOIN account a ON a.id = o.account_id
 WHERE (t.staged_in = :id OR t.applied_in = :id)
   AND t.state IN ('COMPLETED', 'FAILED', 'CANCELLED')
   AND (t.verdict IS DISTINCT FROM o.verdict OR t.score IS DISTINCT FROM o.score OR t.state <> 'COMPLETED')
   AND (:after::text IS NULL OR o.id > :after)
 ORDER BY o.id LIMIT :limit;

-- name: count_unfinished_trials$
-- Counts trials that have not ended.
SELECT count(*) FROM submission WHERE staged_in = :id AND finished_at IS NULL;

-- name: lock_unfinished_trials
-- Lists the same and locks them, so that none starts or ends meanwhile.
SELECT id, state, attempt FROM submission
 WHERE staged_in = :id AND finished_at IS NULL
 ORDER BY id FOR NO KEY UPDATE;


-- name: replace_originals!
-- Archives originals and puts their trials in their place. Originals that were rejudged otherwise meanwhile
-- are left out, even if that shows only once their row is locked. Rows are locked by id, as everywhere.
WITH pair AS (
    SELECT o.id AS old, t.id AS new
      FROM submission t JOIN submission o ON o.id = t.rejudge_of
     WHERE t.staged_in = :id AND t.state = 'COMPLETED' AND o.archived_at IS NULL AND o.staged_in IS NULL
     ORDER BY o.id
       FOR NO KEY UPDATE OF o
), archived AS (
    UPDATE submission s SET archived_at = now() FROM pair WHERE s.id = pair.old
)
UPDATE submission s SET staged_in = NULL, applied_in = :id FROM pair WHERE s.id = pair.new;

-- name: copy_analyses!
-- Copies the analyses of replaced submissions to those that replace them and are counted instead: their sources are
-- the same.
WITH copied AS (
    INSERT INTO analysis (work_id, attempt, sarif, scores, tools, findings, counted, analyzed_at)
    SELECT t.id, t.attempt, a.sarif, a.scores, a.tools, a.findings, a.counted, a.analyzed_at
      FROM submission t JOIN analysis a ON a.work_id = t.rejudge_of
     WHERE t.applied_in = :id
    ON CONFLICT DO NOTHING
 RETURNING work_id
)
UPDATE analysis a SET counted = false
  FROM submission t JOIN copied c ON c.work_id = t.id
 WHERE a.work_id = t.rejudge_of AND a.counted;

-- name: archive_rest!
-- Archives trials that replaced nothing.
UPDATE submission SET archived_at = now() WHERE staged_in = :id AND archived_at IS NULL;

-- name: add_webhooks!
-- Adds webhooks for replaced submissions whose verdict or score changed.
INSERT INTO webhook_delivery (id, work_id, account_id, kind, url)
SELECT 'whd_' || substr(t.id, 5), t.id, t.account_id, 'submission.finished', t.webhook_url
  FROM submission t JOIN submission o ON o.id = t.rejudge_of
 WHERE t.applied_in = :id AND t.webhook_url IS NOT NULL
   AND (t.verdict, t.score) IS DISTINCT FROM (o.verdict, o.score)
ON CONFLICT DO NOTHING;

-- name: add_events!
-- Adds events for replaced submissions, for streams and caches.
INSERT INTO work_event (work_id, event, state, attempt)
SELECT id, :event, state, attempt FROM submission WHERE applied_in = :id;

-- name: open_account_tallies!
-- Adds missing rows for accounts.
INSERT INTO account_tally (account_id, problem_id, submits, accepted)
SELECT DISTINCT account_id, problem_id, 0, 0 FROM submission WHERE applied_in = :id ORDER BY 1, 2
ON CONFLICT DO NOTHING;

-- name: correct_account_tallies!
-- Applies the changes of verdicts to the counters of accounts; rows are locked in one order (I3).
WITH change AS (
    SELECT t.account_id, t.problem_id, count(*) - count(o.verdict) AS submits,
           count(*) FILTER (WHERE t.verdict = 'Accepted')
           - count(*) FILTER (WHERE o.verdict = 'Accepted') AS accepted
      FROM submission t JOIN submission o ON o.id = t.rejudge_of
     WHERE t.applied_in = :id GROUP BY 1, 2
), locked AS (
    SELECT c.* FROM account_tally y JOIN change c USING (account_id, problem_id)
     WHERE c.submits <> 0 OR c.accepted <> 0
     ORDER BY account_id, problem_id FOR NO KEY UPDATE OF y
)
UPDATE account_tally y SET submits = y.submits + l.submits, accepted = y.accepted + l.accepted
  FROM locked l WHERE y.account_id = l.account_id AND y.problem_id = l.problem_id;

-- name: open_problem_tallies!
-- Adds missing rows for problems.
INSERT INTO problem_tally (problem_id, submits, accepted)
SELECT DISTINCT problem_id, 0, 0 FROM submission WHERE applied_in = :id ORDER BY 1
ON CONFLICT DO NOTHING;

-- name: correct_problem_tallies!
-- Does the same for the counters of problems.
WITH change AS (
    SELECT t.problem_id, count(*) - count(o.verdict) AS submits,
           count(*) FILTER (WHERE t.verdict = 'Accepted')
           - count(*) FILTER (WHERE o.verdict = 'Accepted') AS accepted
      FROM submission t JOIN submission o ON o.id = t.rejudge_of
     WHERE t.applied_in = :id GROUP BY 1
), locked AS (
    SELECT c.* FROM problem_tally y JOIN change c USING (problem_id)
     WHERE c.submits <> 0 OR c.accepted <> 0
     ORDER BY problem_id FOR NO KEY UPDATE OF y
)
UPDATE problem_tally y SET submits = y.submits + l.submits, accepted = y.accepted + l.accepted
  FROM locked l WHERE y.problem_id = l.problem_id;
