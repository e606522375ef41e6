-- name: add_all!
-- Adds one-time log-in links for accounts.
INSERT INTO log_in_link (digest, account_id, expires_at)
SELECT link.digest, link.account_id, now() + make_interval(days => :days::int)
  FROM unnest(:digests::bytea[], :accounts::text[]) AS link (digest, account_id);

-- name: trim!
-- Deletes expired links.
DELETE FROM log_in_link WHERE expires_at <= now();

-- name: find_account^
-- Finds the account that an unused link would log in.
SELECT a.id, a.name, a.role, a.tier, a.daily_quota
  FROM log_in_link l JOIN account a ON a.id = l.account_id
 WHERE l.digest = :digest AND l.expires_at > now() AND a.disabled_at IS NULL;

-- name: use^
-- Deletes an unused link, and returns the account that it logs in.
DELETE FROM log_in_link l USING account a
 WHERE l.digest = :digest AND l.expires_at > now() AND a.id = l.account_id AND a.disabled_at IS NULL
RETURNING a.id, a.name, a.role, a.tier, a.daily_quota;
