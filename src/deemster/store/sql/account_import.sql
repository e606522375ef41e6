-- name: add_all
-- Adds accounts whose names are free, and returns the ids of those that it added.
INSERT INTO account (id, name, role, tier, daily_quota, password, password_set_at)
SELECT row.id, row.name, row.role, row.tier, row.daily_quota, row.password,
       CASE WHEN row.password IS NOT NULL THEN now() END
  FROM unnest(:ids::text[], :names::text[], :roles::text[], :tiers::int[], :quotas::int[], :passwords::text[])
       AS row (id, name, role, tier, daily_quota, password)
    ON CONFLICT (lower(name COLLATE "C")) DO NOTHING
RETURNING id;

-- name: find_by_names
-- Finds accounts by their names, and locks them; case does not matter.
SELECT id, name, role, disabled_at FROM account
 WHERE lower(name COLLATE "C") IN (SELECT lower(given COLLATE "C") FROM unnest(:names::text[]) AS given)
 ORDER BY id FOR NO KEY UPDATE;

-- name: set_passwords!
-- Sets the password hashes of accounts.
UPDATE account SET password = row.password, password_set_at = now()
  FROM unnest(:ids::text[], :passwords::text[]) AS row (id, password)
 WHERE account.id = row.id;

-- name: end_sessions
-- Ends all sessions of accounts.
DELETE FROM session WHERE account_id = ANY (:ids::text[]) RETURNING digest;

-- name: record_all!
-- Adds an entry to the audit log for each account of an import.
INSERT INTO audit (account_id, actor, act, target, details, request_id)
SELECT :account, :actor, row.act, row.target, row.details::jsonb, :request_id
  FROM unnest(:acts::text[], :targets::text[], :details::text[]) AS row (act, target, details);
