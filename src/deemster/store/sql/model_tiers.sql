-- name: list_tiers
-- Lists all tiers, the cheapest first.
SELECT name, base_url, model, input_price, output_price, key_name, timeout_s, max_output_tokens,
       max_source_bytes, answers, token_limit
  FROM model_tier ORDER BY input_price + output_price, name;

-- name: clear!
-- Deletes all tiers.
DELETE FROM model_tier;

-- name: add!
-- Adds a tier.
INSERT INTO model_tier (name, base_url, model, input_price, output_price, key_name, timeout_s, max_output_tokens,
                        max_source_bytes, answers, token_limit)
VALUES (:name, :base_url, :model, :input_price, :output_price, :key_name, :timeout_s, :max_output_tokens,
        :max_source_bytes, :answers, :token_limit);

-- name: get_budgets^
-- Reads the budgets.
SELECT submission, user_day, day FROM evaluation_budget;

-- name: set_budgets!
-- Replaces the budgets.
UPDATE evaluation_budget SET submission = :submission, user_day = :user_day, day = :day;
