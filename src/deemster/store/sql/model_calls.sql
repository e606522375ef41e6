-- name: lock_budgets^
-- Reads the budgets, and makes all who reserve wait for each other until this transaction ends.
SELECT submission, user_day, day FROM evaluation_budget FOR NO KEY UPDATE;

-- name: get^
-- Reads a call by its key.
SELECT id, state, content, input_tokens, output_tokens, latency_ms, charged_micros, reserved_micros, day::text AS day,
       COALESCE(extract(epoch FROM claimed_until - now()), 0)::float AS claimed_for_s
  FROM model_call
 WHERE submission_id = :submission AND rubric_id = :rubric AND variant = :variant AND tier = :tier
   AND number = :number;

-- name: sums^
-- Adds up what counts towards each budget.
SELECT COALESCE((SELECT sum(charged_micros) FROM model_call WHERE submission_id = :submission), 0)::bigint AS submission,
       COALESCE(sum(micros) FILTER (WHERE account_id = :account), 0)::bigint AS user_day,
       COALESCE(sum(micros), 0)::bigint AS day
  FROM model_spend WHERE day = (now() AT TIME ZONE 'UTC')::date;

-- name: add$
-- Reserves a new call.
INSERT INTO model_call (submission_id, rubric_id, variant, tier, number, account_id, reserved_micros, charged_micros,
                        claimed_until)
VALUES (:submission, :rubric, :variant, :tier, :number, :account, :micros, :micros,
        now() + make_interval(secs => :claim_s))
RETURNING id;

-- name: reserve_again!
-- Reserves a call that failed before; what the failure cost stays charged.
UPDATE model_call
   SET state = 'reserved', tries = tries + 1, reserved_micros = :micros, charged_micros = charged_micros + :micros,
       claimed_until = now() + make_interval(secs => :claim_s), settled_at = NULL, error = NULL,
       day = (now() AT TIME ZONE 'UTC')::date
 WHERE id = :id;

-- name: move_spend!
-- Moves the cost of earlier tries of a call to today, where the call is counted from now on.
UPDATE model_spend SET micros = micros - :micros WHERE day = :day::text::date AND account_id = :account;

-- name: take_over!
-- Takes over a call whose process died before it settled it; the amount stays reserved.
UPDATE model_call SET tries = tries + 1, claimed_until = now() + make_interval(secs => :claim_s) WHERE id = :id;

-- name: add_spend!
-- Adds to what an account has spent today.
INSERT INTO model_spend AS s (day, account_id, micros)
VALUES ((now() AT TIME ZONE 'UTC')::date, :account, :micros)
ON CONFLICT (day, account_id) DO UPDATE SET micros = s.micros + excluded.micros;

-- name: settle$
-- Replaces the reserved amount by the true one; a call is settled once. Returns how much less was spent.
WITH before AS (
    SELECT id, day, account_id, reserved_micros FROM model_call WHERE id = :id AND state = 'reserved' FOR UPDATE
), settled AS (
    UPDATE model_call c
       SET state = :state, charged_micros = c.charged_micros - b.reserved_micros + :cost, reserved_micros = 0,
           claimed_until = NULL, settled_at = now(), content = :content, error = :error,
           input_tokens = c.input_tokens + :input_tokens, output_tokens = c.output_tokens + :output_tokens,
           latency_ms = c.latency_ms + :latency_ms
      FROM before b WHERE c.id = b.id
    RETURNING b.day, b.account_id, b.reserved_micros - :cost AS saved
)
UPDATE model_spend s SET micros = s.micros - t.saved FROM settled t
 WHERE s.day = t.day AND s.account_id = t.account_id
RETURNING t.saved;

-- name: usage^
-- Adds up all calls for a submission.
SELECT count(*) AS calls, COALESCE(sum(input_tokens), 0)::bigint AS input_tokens,
       COALESCE(sum(output_tokens), 0)::bigint AS output_tokens,
       COALESCE(sum(charged_micros), 0)::bigint AS cost_micros, COALESCE(sum(latency_ms), 0)::bigint AS latency_ms
  FROM model_call WHERE submission_id = :submission AND rubric_id = :rubric;

-- name: spend_by_day
-- Adds up the calls of each day and tier, newest day first.
SELECT day::text AS day, tier, count(*) AS calls, count(*) FILTER (WHERE state = 'failed') AS failed,
       count(*) FILTER (WHERE state = 'reserved') AS under_way,
       sum(input_tokens)::bigint AS input_tokens, sum(output_tokens)::bigint AS output_tokens,
       sum(charged_micros)::bigint AS cost_micros
  FROM model_call WHERE day > (now() AT TIME ZONE 'UTC')::date - :days::int
 GROUP BY day, tier ORDER BY model_call.day DESC, tier;

-- name: find_mismatches
-- Lists accounts and days whose spend differs from their calls; there should be none.
SELECT day::text AS day, account_id, s.micros AS counted, c.micros AS called
  FROM model_spend s
  FULL JOIN (SELECT day, account_id, sum(charged_micros)::bigint AS micros FROM model_call GROUP BY day, account_id) c
 USING (day, account_id)
 WHERE COALESCE(s.micros, 0) <> COALESCE(c.micros, 0);
