-- name: add!
-- Adds an account unless the name is taken; case does not matter.
INSERT INTO account (id, name, role) VALUES (:id, :name, :role)
    ON CONFLICT (lower(name COLLATE "C")) DO NOTHING;

-- name: find_by_name^
-- Finds an account by its name; case does not matter.
SELECT id, name, role, created_at, disabled_at FROM account
 WHERE lower(name COLLATE "C") = lower(:name::text COLLATE "C");

-- name: list_all
-- Lists all accounts by name.
SELECT id, name, role, tier, daily_quota, created_at, disabled_at, password IS NOT NULL AS has_password
  FROM account ORDER BY name;

-- name: page
-- Lists accounts, newest first, starting before one.
SELECT id, name, role, tier, daily_quota, created_at, disabled_at, password IS NOT NULL AS has_password
  FROM account
 WHERE (:before::text IS NULL OR id < :before)
   AND (:role::text IS NULL OR role = :role)
   AND (:prefix::text IS NULL OR starts_with(lower(name COLLATE "C"), lower(:prefix COLLATE "C")))
 ORDER BY id DESC LIMIT :limit;

-- name: get^
-- Reads one account.
SELECT id, name, role, tier, daily_quota, created_at, disabled_at, password IS NOT NULL AS has_password
  FROM account WHERE id = :id;

-- name: lock_admins
-- Locks all active admins, so that of two who leave at the same time one stays.
-- NO KEY UPDATE: other rows may still refer to them.
SELECT id FROM account WHERE role = 'admin' AND disabled_at IS NULL ORDER BY id FOR NO KEY UPDATE;

-- name: lock_account^
-- Locks an account, so that it is not disabled and gets no other token meanwhile.
SELECT name, disabled_at FROM account WHERE id = :id FOR NO KEY UPDATE;

-- name: update!
-- Changes what is not NULL; a quota may become NULL, so `quota_given` says whether it is set.
UPDATE account
   SET role = coalesce(:role, role),
       tier = coalesce(:tier, tier),
       daily_quota = CASE WHEN :quota_given THEN :daily_quota::integer ELSE daily_quota END,
       disabled_at = CASE WHEN :disabled::boolean IS NULL THEN disabled_at
                          WHEN :disabled THEN coalesce(disabled_at, now()) END
 WHERE id = :id;

-- name: end_sessions_and_tokens
-- Ends all sessions, tokens and log-in links of an account.
WITH links AS (DELETE FROM log_in_link WHERE account_id = :id),
     ended AS (DELETE FROM session WHERE account_id = :id RETURNING digest),
     revoked AS (UPDATE token SET revoked_at = now()
                  WHERE account_id = :id AND revoked_at IS NULL RETURNING digest)
SELECT digest FROM ended UNION ALL SELECT digest FROM revoked;

-- name: credentials^
-- Reads the password hash of an account, by name or by id.
SELECT id, name, role, disabled_at, password FROM account
 WHERE lower(name COLLATE "C") = lower(:name::text COLLATE "C") OR id = :id;

-- name: set_password!
-- Sets the password hash.
UPDATE account SET password = :password, password_set_at = now() WHERE id = :id;

-- name: replace_password!
-- Sets the password hash unless it was changed since the old one was read.
UPDATE account SET password = :password, password_set_at = now()
 WHERE id = :id AND disabled_at IS NULL AND password IS NOT DISTINCT FROM :old::text;

-- name: rehash_password!
-- Stores a better hash of the same password unless the password was changed.
UPDATE account SET password = :password WHERE id = :id AND password = :old;

-- name: add_token^
-- Adds a token.
INSERT INTO token (id, account_id, name, digest, scopes, expires_at)
VALUES (:id, :account, :name, :digest, :scopes::text[],
        CASE WHEN :days::int IS NOT NULL THEN now() + make_interval(days => :days::int) END)
RETURNING id, name, scopes, created_at, expires_at, revoked_at, last_used_at, false AS expired;

-- name: find_by_token_digest^
-- Finds the account of a valid token.
SELECT a.id, a.name, a.role, a.tier, a.daily_quota, t.id AS token_id, t.scopes
  FROM token t JOIN account a ON a.id = t.account_id
 WHERE t.digest = :digest AND t.revoked_at IS NULL AND a.disabled_at IS NULL
   AND (t.expires_at IS NULL OR t.expires_at > now());

-- name: mark_tokens_used!
-- Records the use of tokens, at most once a minute; skips those another process is writing.
UPDATE token SET last_used_at = now() WHERE id IN (
    SELECT id FROM token
     WHERE id = ANY (:ids::text[]) AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')
       FOR NO KEY UPDATE SKIP LOCKED);

-- name: token_page
-- Lists tokens of an account, newest first, starting before one.
SELECT id, name, scopes, created_at, expires_at, revoked_at, last_used_at,
       coalesce(expires_at <= now(), false) AS expired
  FROM token
 WHERE account_id = :account AND (:before::text IS NULL OR id < :before)
 ORDER BY id DESC LIMIT :limit;

-- name: count_valid_tokens$
-- Counts the valid tokens of an account.
SELECT count(*) FROM token
 WHERE account_id = :account AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now());

-- name: revoke_token^
-- Revokes a token, of one account or of any; it may have been revoked before.
WITH old AS (
    SELECT id, revoked_at FROM token
     WHERE id = :id AND (:account::text IS NULL OR account_id = :account) FOR NO KEY UPDATE)
UPDATE token t SET revoked_at = coalesce(old.revoked_at, now())
  FROM old WHERE t.id = old.id
RETURNING t.account_id, t.digest, t.id, t.name, t.scopes, t.created_at, t.expires_at, t.revoked_at,
          t.last_used_at, coalesce(t.expires_at <= now(), false) AS expired,
          old.revoked_at IS NULL AS was_valid;
