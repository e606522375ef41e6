-- name: add!
-- Unless someone has the name, in whatever case.
INSERT INTO account (id, name, role) VALUES (:id, :name, :role)
    ON CONFLICT (lower(name COLLATE "C")) DO NOTHING;

-- name: find_by_name^
-- In whatever case it is written.
SELECT id, name, role, created_at, disabled_at FROM account
 WHERE lower(name COLLATE "C") = lower(:name::text COLLATE "C");

-- name: list_all
SELECT id, name, role, tier, daily_quota, created_at, disabled_at, password IS NOT NULL AS has_password
  FROM account ORDER BY name;

-- name: page
-- Newest first, from before one on.
SELECT id, name, role, tier, daily_quota, created_at, disabled_at, password IS NOT NULL AS has_password
  FROM account
 WHERE (:before::text IS NULL OR id < :before)
   AND (:role::text IS NULL OR role = :role)
   AND (:prefix::text IS NULL OR starts_with(lower(name COLLATE "C"), lower(:prefix COLLATE "C")))
 ORDER BY id DESC LIMIT :limit;

-- name: get^
SELECT id, name, role, tier, daily_quota, created_at, disabled_at, password IS NOT NULL AS has_password
  FROM account WHERE id = :id;

-- name: lock_admins
-- All that may run this judge, held so that of two who go at once one stays; not from rows that refer to them.
SELECT id FROM account WHERE role = 'admin' AND disabled_at IS NULL ORDER BY id FOR NO KEY UPDATE;

-- name: lock_account^
-- Until the transaction ends it is neither disabled nor given another token.
SELECT name, disabled_at FROM account WHERE id = :id FOR NO KEY UPDATE;

-- name: update!
-- What is NULL stays; a quota may become NULL, so it says whether it is meant.
UPDATE account
   SET role = coalesce(:role, role),
       tier = coalesce(:tier, tier),
       daily_quota = CASE WHEN :quota_given THEN :daily_quota::integer ELSE daily_quota END,
       disabled_at = CASE WHEN :disabled::boolean IS NULL THEN disabled_at
                          WHEN :disabled THEN coalesce(disabled_at, now()) END
 WHERE id = :id;

-- name: end_sessions_and_tokens
-- Its log-ins and its tokens end.
WITH ended AS (DELETE FROM session WHERE account_id = :id RETURNING digest),
     revoked AS (UPDATE token SET revoked_at = now()
                  WHERE account_id = :id AND revoked_at IS NULL RETURNING digest)
SELECT digest FROM ended UNION ALL SELECT digest FROM revoked;

-- name: credentials_by_name^
-- By its name, in whatever case, or by its id.
SELECT id, name, role, disabled_at, password FROM account
 WHERE lower(name COLLATE "C") = lower(:name::text COLLATE "C") OR id = :id;

-- name: set_password!
UPDATE account SET password = :password, password_set_at = now() WHERE id = :id;

-- name: replace_password!
-- Unless it was changed while the old one was looked at.
UPDATE account SET password = :password, password_set_at = now()
 WHERE id = :id AND disabled_at IS NULL AND password IS NOT DISTINCT FROM :old::text;

-- name: rehash_password!
-- The same password, hashed better: unless it has changed since.
UPDATE account SET password = :password WHERE id = :id AND password = :old;

-- name: add_token^
INSERT INTO token (id, account_id, name, digest, scopes, expires_at)
VALUES (:id, :account, :name, :digest, :scopes::text[],
        CASE WHEN :days::int IS NOT NULL THEN now() + make_interval(days => :days::int) END)
RETURNING id, name, scopes, created_at, expires_at, revoked_at, last_used_at, false AS expired;

-- name: find_by_token_digest^
-- Who holds it, if it is good.
SELECT a.id, a.name, a.role, a.tier, a.daily_quota, t.id AS token_id, t.scopes
  FROM token t JOIN account a ON a.id = t.account_id
 WHERE t.digest = :digest AND t.revoked_at IS NULL AND a.disabled_at IS NULL
   AND (t.expires_at IS NULL OR t.expires_at > now());

-- name: mark_tokens_used!
-- Seen now, many by one commit; written at most once a minute. One that another process writes is left to it.
UPDATE token SET last_used_at = now() WHERE id IN (
    SELECT id FROM token
     WHERE id = ANY (:ids::text[]) AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute')
       FOR NO KEY UPDATE SKIP LOCKED);

-- name: token_page
-- Newest first, from before one on.
SELECT id, name, scopes, created_at, expires_at, revoked_at, last_used_at,
       coalesce(expires_at <= now(), false) AS expired
  FROM token
 WHERE account_id = :account AND (:before::text IS NULL OR id < :before)
 ORDER BY id DESC LIMIT :limit;

-- name: count_valid_tokens$
SELECT count(*) FROM token
 WHERE account_id = :account AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now());

-- name: revoke_token^
-- Of one account, or whoever's it is. It may be revoked already.
WITH old AS (
    SELECT id, revoked_at FROM token
     WHERE id = :id AND (:account::text IS NULL OR account_id = :account) FOR NO KEY UPDATE)
UPDATE token t SET revoked_at = coalesce(old.revoked_at, now())
  FROM old WHERE t.id = old.id
RETURNING t.account_id, t.digest, t.id, t.name, t.scopes, t.created_at, t.expires_at, t.revoked_at,
          t.last_used_at, coalesce(t.expires_at <= now(), false) AS expired,
          old.revoked_at IS NULL AS was_good;
