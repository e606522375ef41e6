-- name: add!
-- Stores an evaluation; a submission is evaluated once.
INSERT INTO evaluation (submission_id, rubric_id, method, score, flag, without_model, tier, locale, details, calls,
                        input_tokens, output_tokens, cost_micros, latency_ms)
VALUES (:submission, :rubric, :method, :score, :flag, :without_model, :tier, :locale, :details, :calls,
        :input_tokens, :output_tokens, :cost_micros, :latency_ms)
ON CONFLICT (submission_id) DO NOTHING;

-- name: get^
-- Reads an evaluation with the number of its rubric's version.
SELECT e.submission_id, e.rubric_id, r.number AS rubric_number, e.method, e.score, e.flag, e.without_model, e.tier,
       e.locale, e.details, e.calls, e.input_tokens, e.output_tokens, e.cost_micros, e.latency_ms, e.evaluated_at
  FROM evaluation e JOIN rubric r ON r.id = e.rubric_id
 WHERE e.submission_id = :submission;

-- name: corrections
-- Lists the corrections of a score, oldest first.
SELECT c.number, c.old_score, c.new_score, c.reason, a.name AS by, c.at
  FROM evaluation_correction c JOIN account a ON a.id = c.account_id
 WHERE c.submission_id = :submission ORDER BY c.number;

-- name: lock^
-- Makes those who correct the same score wait for each other.
SELECT submission_id FROM evaluation WHERE submission_id = :submission FOR UPDATE;

-- name: correct!
-- Adds a correction, with the score that counted before.
INSERT INTO evaluation_correction (submission_id, number, old_score, new_score, reason, account_id)
VALUES (:submission, :number, :old_score, :new_score, :reason, :account);

-- name: count_flagged$
-- Counts evaluations that wait for a person.
SELECT count(*) FROM evaluation e
 WHERE e.flag IS NOT NULL
   AND NOT EXISTS (SELECT FROM evaluation_correction c WHERE c.submission_id = e.submission_id);
