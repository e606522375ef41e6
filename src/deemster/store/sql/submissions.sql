-- name: insert_rows
-- Inserts submissions with their outbox rows and events. A submission whose key is taken, that comes too soon
-- after another or that exceeds its user's quota is missing in the answer and leaves nothing (I1, Q2, D2). If its
-- key was taken while this ran, its time in the answer is NULL: it was counted, and the caller returns the quota.
-- A user's n-th waiting submission comes after everyone's earlier ones, up to a bound, so that not all waiting rows
-- are counted each time; rejudges and examples do not count. Keys are not looked up by EXISTS: a plan made while the table was
-- empty would read the whole table into a hash each time.
WITH requested AS (
    SELECT * FROM unnest(:ids::text[], :accounts::text[], :problems::text[], :revisions::text[],
                         :languages::text[], :mains::text[], :sources::text[], :contents::bytea[],
                         :first_priorities::int[], :ahead::int[], :keys::text[], :digests::bytea[],
                         :webhooks::text[], :rejudged::text[], :staged::text[], :contests::text[],
                         :paced::bool[], :quotas::int[], :heng_keys::text[], :heng_updates::text[],
                         :heng_messages::int[])
        AS a (id, account_id, problem_id, revision, language, main, source, content,
              first_priority, ahead, idempotency_key, request_digest, webhook_url, rejudge_of, staged_in,
              contest_id, is_paced, quota, heng_key, heng_update, heng_message)
     WHERE idempotency_key IS NULL OR (
           SELECT w.id FROM work w
            WHERE w.account_id = a.account_id AND w.idempotency_key = a.idempotency_key) IS NULL
), interval_over AS (
    INSERT INTO pace AS p (account_id, problem_id, last_at)
    SELECT DISTINCT account_id, problem_id, now() FROM requested a
     WHERE is_paced AND (quota IS NULL OR quota > COALESCE((
           SELECT d.submits FROM day_count d
            WHERE d.account_id = a.account_id AND d.day = (now() AT TIME ZONE 'UTC')::date), 0))
     ORDER BY 1, 2
    ON CONFLICT (account_id, problem_id) DO UPDATE SET last_at = now()
     WHERE p.last_at <= now() - make_interval(secs => :interval_s::float)
 RETURNING account_id, problem_id
), not_too_soon AS (
    SELECT a.*, row_number() OVER (PARTITION BY account_id, quota IS NULL ORDER BY id) AS of_today
      FROM (SELECT *, row_number() OVER (PARTITION BY account_id, problem_id ORDER BY id) AS of_problem
              FROM requested) a
     WHERE NOT is_paced OR (of_problem = 1 AND EXISTS (
           SELECT FROM interval_over s WHERE s.account_id = a.account_id AND s.problem_id = a.problem_id))
), quota_used AS (
    INSERT INTO day_count AS d (account_id, day, submits, before, quota)
    SELECT account_id, (now() AT TIME ZONE 'UTC')::date, LEAST(count(*), max(quota)), 0, max(quota)
      FROM not_too_soon WHERE quota IS NOT NULL GROUP BY account_id ORDER BY account_id
    ON CONFLICT (account_id, day) DO UPDATE
       SET submits = GREATEST(d.submits, LEAST(d.submits + EXCLUDED.submits, EXCLUDED.quota)),
           before = d.submits, quota = EXCLUDED.quota
 RETURNING account_id, submits - before AS room
), admitted AS (
    SELECT i.* FROM not_too_soon i LEFT JOIN quota_used c USING (account_id)
     WHERE i.quota IS NULL OR i.of_today <= c.room
), new_artifacts AS (
    INSERT INTO artifact (digest, content)
    SELECT source, content FROM admitted WHERE content IS NOT NULL ORDER BY source
    ON CONFLICT DO NOTHING
), inserted AS (
    INSERT INTO work (id, account_id, problem_id, revision, language, main, source, priority,
                      idempotency_key, request_digest, webhook_url, webhook_format, rejudge_of, staged_in, contest_id)
    SELECT id, account_id, problem_id, revision, language, main, source,
           first_priority + LEAST(:max_ahead::int, ahead + (
               SELECT count(*) FROM (
                   SELECT FROM submission s
                    WHERE s.account_id = admitted.account_id AND s.attempt = 0 AND s.finished_at IS NULL
                      AND s.rejudge_of IS NULL AND s.example IS NULL
                    LIMIT :max_ahead::int) waiting))::int,
           idempotency_key, request_digest, webhook_url, CASE WHEN heng_key IS NOT NULL THEN 'heng' END,
           rejudge_of, staged_in, contest_id
      FROM admitted ORDER BY account_id, idempotency_key
    ON CONFLICT (account_id, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
 RETURNING id, submitted_at
), new_events AS (
    INSERT INTO work_event (work_id, event, state, attempt)
    SELECT id, 'submit', 'PENDING', 0 FROM inserted
), new_jobs AS (
    INSERT INTO outbox (work_id, task, dispatch, attempt)
    SELECT id, 'submission:run', 1, 0 FROM inserted
), new_heng_tasks AS (
    INSERT INTO heng_task (work_id, access_key, update_url, message_bytes)
    SELECT a.id, a.heng_key, a.heng_update, a.heng_message FROM admitted a JOIN inserted USING (id)
     WHERE a.heng_key IS NOT NULL
 RETURNING work_id, update_url
), first_updates AS (
    INSERT INTO webhook_delivery (id, work_id, account_id, kind, url, format, ordinal)
    SELECT heng_delivery_id(h.work_id, 1), h.work_id, a.account_id, 'submission.confirmed', h.update_url, 'heng', 1
      FROM new_heng_tasks h JOIN admitted a ON a.id = h.work_id
)
SELECT a.id, f.submitted_at FROM admitted a LEFT JOIN inserted f USING (id);

-- name: return_quota!
-- Subtracts submissions that were counted for today but not inserted.
UPDATE day_count SET submits = GREATEST(submits - :count::int, 0), before = 0
 WHERE account_id = :account AND day = (now() AT TIME ZONE 'UTC')::date;

-- name: allowance^
-- Reads the seconds until a user's next submission for a problem, and the user's submissions of today (D2).
SELECT GREATEST(0, extract(epoch FROM (SELECT last_at FROM pace WHERE account_id = :account AND problem_id = :problem)
                                      + make_interval(secs => :interval_s::float) - now()))::float AS wait_s,
       COALESCE((SELECT submits FROM day_count
                  WHERE account_id = :account AND day = (now() AT TIME ZONE 'UTC')::date), 0) AS today,
       extract(epoch FROM date_trunc('day', now() AT TIME ZONE 'UTC') + interval '1 day'
                          - (now() AT TIME ZONE 'UTC'))::float AS day_left_s;

-- name: forget_interval!
-- Lets the user submit again at once: the submission was not tried (D2). A later one keeps its interval.
DELETE FROM pace p USING submission s
 WHERE s.id = :id AND p.account_id = s.account_id AND p.problem_id = s.problem_id AND p.last_at = s.submitted_at;

-- name: trim_days!
-- Deletes the counts of past days.
DELETE FROM day_count WHERE day < (now() AT TIME ZONE 'UTC')::date - 1;

-- name: find_by_key^
-- Finds the work that a key was used for (I1), with the digest of its request (I2). If that is an execution, the digest
-- is not that of a submission.
SELECT id, problem_id, language, submitted_at, request_digest FROM work
 WHERE account_id = :account AND idempotency_key = :key;

-- name: get^
-- Reads one submission with everything that is shown of it.
SELECT s.*, a.name AS account_name, j.contestant, l.cases_done, l.cases_total, l.cases,
       r.time_ms AS limit_ms, r.number AS revision_number, n.id AS superseded_by
  FROM submission s
  JOIN account a ON a.id = s.account_id
  JOIN problem_revision r ON r.problem_id = s.problem_id AND r.digest = s.revision
  LEFT JOIN judgement j ON j.submission_id = s.id
  LEFT JOIN lease l ON l.work_id = s.id AND l.attempt = s.attempt
  LEFT JOIN submission n ON n.rejudge_of = s.id AND n.staged_in IS NULL
 WHERE s.id = :id;

-- name: jury_digest$
-- Reads the digest of the jury's report.
SELECT jury FROM judgement WHERE submission_id = :id;

-- name: page
-- Lists submissions, newest first, starting before one (A8); archived ones only on request.
SELECT s.*, a.name AS account_name
  FROM submission s JOIN account a ON a.id = s.account_id
 WHERE (:account::text IS NULL OR s.account_id = :account)
   AND (:problem::text IS NULL OR s.problem_id = :problem)
   AND (:contest::text IS NULL OR s.contest_id = :contest)
   AND (:verdict::text IS NULL OR s.verdict = :verdict)
   AND (:language::text IS NULL OR s.language = :language)
   AND (:states::text[] IS NULL OR s.state = ANY (:states))
   AND (:archived::bool OR s.archived_at IS NULL)
   AND s.staged_in IS NULL AND s.example IS NULL
   AND (:before::text IS NULL OR s.id < :before)
 ORDER BY s.id DESC
 LIMIT :limit;

-- name: count_ahead$
-- Counts the submissions ahead in the queue, which is ordered by priority, then time (A4).
SELECT count(*) FROM submission
 WHERE state IN ('PENDING', 'QUEUED')
   AND (priority, id) < (:priority::int, :id);

-- name: count_urgent$
-- Counts submissions that wait, without those of the lowest class.
SELECT count(*) FROM submission WHERE state IN ('PENDING', 'QUEUED') AND priority < :rejudged::int;

-- name: submission_details^
-- Reads what a worker needs to start, if wanted with a small source.
SELECT s.id, s.state, s.attempt, s.account_id, s.problem_id, s.revision, s.language, s.main, s.source,
       s.staged_in IS NOT NULL OR s.example IS NOT NULL AS staged, r.time_ms, r.cases,
       extract(epoch FROM now() - s.submitted_at)::float AS age_s,
       CASE WHEN :with_source::bool AND s.state IN ('PENDING', 'QUEUED')
            THEN (SELECT a.content FROM artifact a WHERE a.digest = s.source) END AS bundle
  FROM submission s JOIN problem_revision r ON r.problem_id = s.problem_id AND r.digest = s.revision
 WHERE s.id = :id;

-- name: record_verdict^
-- Stores the verdict with the reports for the contestant and for the jury, while the attempt that found it still runs
-- (S5, J12). A small report for the jury is stored here, a large one was stored before. Returns the stages that follow
-- the verdict, if the contest or the problem decides that.
WITH recorded AS (
    UPDATE submission
       SET verdict = :verdict, runtime_ms = :runtime_ms, memory_kb = :memory_kb, passed_cases = :passed_cases,
           total_cases = :total_cases, score = :score, max_score = :max_score
     WHERE id = :id AND attempt = :attempt AND state = 'RUNNING' AND verdict IS NULL
 RETURNING id, attempt, contest_id, problem_id
), new_artifact AS (
    INSERT INTO artifact (digest, content)
    SELECT :jury::text, :jury_content::bytea FROM recorded WHERE :jury_content::bytea IS NOT NULL
    ON CONFLICT DO NOTHING
), new_judgement AS (
    INSERT INTO judgement (submission_id, attempt, contestant, jury)
    SELECT id, attempt, :contestant::jsonb, :jury::text FROM recorded
)
SELECT COALESCE((SELECT c.stages FROM contest c WHERE c.id = contest_id),
                (SELECT p.stages FROM problem p WHERE p.id = problem_id)) AS stages
  FROM recorded;

-- name: archive^
-- Archives a submission that a newer one replaces (A9).
UPDATE submission SET archived_at = now()
 WHERE id = :id AND archived_at IS NULL AND staged_in IS NULL AND example IS NULL
   AND state IN ('ANALYZING', 'AI_EVALUATING', 'COMPLETED', 'FAILED', 'CANCELLED')
RETURNING id, account_id, problem_id, revision, language, main, source, state, attempt, stages, verdict, contest_id,
          (SELECT w.webhook_url FROM work w WHERE w.id = submission.id AND w.webhook_format IS NULL) AS webhook_url;

-- name: list_possibly_lost
-- Lists what has been queued for a while with nothing in the outbox; the queue is asked for it (Q6). A stage that
-- nobody has a lease for is queued, too.
(SELECT s.id, s.attempt, s.dispatch, s.priority, s.problem_id, s.revision, NULL AS stage
   FROM work s
  WHERE s.state IN ('PENDING', 'QUEUED') AND s.state = 'QUEUED'
    AND s.changed_at < now() - make_interval(secs => :quiet_s)
    AND NOT EXISTS (SELECT FROM outbox o WHERE o.work_id = s.id
                       AND (o.sent_at IS NULL OR o.sent_at > now() - make_interval(secs => :quiet_s)))
  ORDER BY s.priority, s.id
  LIMIT :limit)
UNION ALL
(SELECT s.id, s.attempt, s.dispatch, s.priority, s.problem_id, s.revision, s.stages[1]
   FROM work s
  WHERE s.stages IS NOT NULL
    AND s.changed_at < now() - make_interval(secs => :quiet_s)
    AND NOT EXISTS (SELECT FROM lease l WHERE l.work_id = s.id)
    AND NOT EXISTS (SELECT FROM outbox o WHERE o.work_id = s.id
                       AND (o.sent_at IS NULL OR o.sent_at > now() - make_interval(secs => :quiet_s)))
  ORDER BY s.changed_at
  LIMIT :limit);
