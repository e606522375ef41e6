-- name: add_key^
-- Adds an access key.
INSERT INTO heng_access_key (id, account_id, name) VALUES (:id, :account, :name)
RETURNING id, name, created_at, revoked_at;

-- name: key_page
-- Lists the access keys of an account, newest first, starting before one.
SELECT id, name, created_at, revoked_at FROM heng_access_key
 WHERE account_id = :account AND (:before::text IS NULL OR id < :before)
 ORDER BY id DESC LIMIT :limit;

-- name: revoke_key^
-- Revokes an access key of an account; it may have been revoked before.
WITH old AS (
    SELECT id, revoked_at FROM heng_access_key
     WHERE id = :id AND account_id = :account FOR NO KEY UPDATE)
UPDATE heng_access_key k SET revoked_at = coalesce(old.revoked_at, now())
  FROM old WHERE k.id = old.id
RETURNING k.id, k.name, k.created_at, k.revoked_at, old.revoked_at IS NULL AS was_valid;

-- name: find_key^
-- Finds the account of a valid access key, and how many seconds ago a request was signed by the database's clock.
SELECT a.id, a.name, a.role, a.tier, a.daily_quota, extract(epoch FROM now())::float - :signed_at::float AS age_s
  FROM heng_access_key k JOIN account a ON a.id = k.account_id
 WHERE k.id = :id AND k.revoked_at IS NULL AND a.disabled_at IS NULL;

-- name: use_nonce$
-- Remembers a nonce; returns no row if the key used it a short time ago.
INSERT INTO heng_nonce AS n (access_key, nonce) VALUES (:access_key, :nonce)
ON CONFLICT (access_key, nonce) DO UPDATE SET used_at = now()
 WHERE n.used_at < now() - make_interval(secs => :kept_s::float)
RETURNING true;

-- name: trim_nonces!
-- Deletes nonces that are no longer remembered.
DELETE FROM heng_nonce WHERE used_at < now() - make_interval(secs => :kept_s::float);
