-- name: count!
-- Adds to the counters of an account for a problem, and then to those of the problem; negative numbers undo a count,
-- and then the rows exist.
WITH of_account AS (
    INSERT INTO account_tally AS t (account_id, problem_id, submits, accepted)
    VALUES (:account, :problem, GREATEST(:submits::int, 0), GREATEST(:accepted::int, 0))
    ON CONFLICT (account_id, problem_id) DO UPDATE
       SET submits = t.submits + :submits, accepted = t.accepted + :accepted
 RETURNING problem_id
)
INSERT INTO problem_tally AS t (problem_id, submits, accepted)
SELECT problem_id, GREATEST(:submits::int, 0), GREATEST(:accepted::int, 0) FROM of_account
ON CONFLICT (problem_id) DO UPDATE
   SET submits = t.submits + :submits, accepted = t.accepted + :accepted;

-- name: problem_counts^
-- Reads a problem's counters and its difficulty.
SELECT submits, accepted, level, level_given FROM listed_problem WHERE id = :problem;

-- name: account_counts^
-- Sums an account's counters, with today's submissions and the seconds until midnight UTC.
SELECT COALESCE(sum(submits), 0)::bigint AS submits, COALESCE(sum(accepted), 0)::bigint AS accepted,
       count(*) FILTER (WHERE accepted > 0) AS solved,
       count(*) FILTER (WHERE submits > 0 AND accepted = 0) AS tried,
       COALESCE((SELECT d.submits FROM day_count d
                  WHERE d.account_id = :account AND d.day = (now() AT TIME ZONE 'UTC')::date), 0) AS today,
       extract(epoch FROM date_trunc('day', now() AT TIME ZONE 'UTC') + interval '1 day'
                          - (now() AT TIME ZONE 'UTC'))::float AS day_left_s
  FROM account_tally WHERE account_id = :account;

-- name: find_mismatches
-- Lists counters that differ from the submissions; there should be none.
WITH truth AS (
    SELECT account_id, problem_id, count(*) AS submits, count(*) FILTER (WHERE verdict = 'Accepted') AS accepted
      FROM submission
     WHERE verdict IS NOT NULL AND archived_at IS NULL AND staged_in IS NULL AND example IS NULL
     GROUP BY account_id, problem_id
), counted AS (
    SELECT account_id, problem_id, submits, accepted FROM account_tally
), problem_truth AS (
    SELECT problem_id, sum(submits) AS submits, sum(accepted) AS accepted FROM truth GROUP BY problem_id
)
SELECT account_id, problem_id, t.submits AS true_submits, c.submits, t.accepted AS true_accepted, c.accepted
  FROM truth t FULL JOIN counted c USING (account_id, problem_id)
 WHERE (COALESCE(t.submits, 0), COALESCE(t.accepted, 0)) <> (COALESCE(c.submits, 0), COALESCE(c.accepted, 0))
UNION ALL
SELECT NULL, problem_id, t.submits::bigint, p.submits, t.accepted::bigint, p.accepted
  FROM problem_truth t FULL JOIN problem_tally p USING (problem_id)
 WHERE (COALESCE(t.submits, 0), COALESCE(t.accepted, 0)) <> (COALESCE(p.submits, 0), COALESCE(p.accepted, 0));

-- name: count_judge_error!
-- Counts a Judge Error by its cause.
INSERT INTO judge_error_count AS c (cause, count) VALUES (:cause, 1)
    ON CONFLICT (cause) DO UPDATE SET count = c.count + 1, last_at = now();

-- name: judge_errors
-- Reads how many Judge Errors there were, by cause.
SELECT cause, count FROM judge_error_count ORDER BY cause;
