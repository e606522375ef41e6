-- name: begin$
-- Adds a session unless the account was disabled or its password was changed meanwhile.
INSERT INTO session (digest, account_id, expires_at)
SELECT :digest, id, now() + make_interval(secs => :keep_s) FROM account
 WHERE id = :account AND disabled_at IS NULL AND (:password::text IS NULL OR password = :password)
   FOR SHARE
RETURNING expires_at;

-- name: find_account^
-- Finds the account of a valid session.
SELECT a.id, a.name, a.role, a.tier, a.daily_quota
  FROM session s JOIN account a ON a.id = s.account_id
 WHERE s.digest = :digest AND s.expires_at > now() AND a.disabled_at IS NULL;

-- name: mark_seen!
-- Extends sessions that were used, at most once a minute.
UPDATE session SET seen_at = now(), expires_at = now() + make_interval(secs => :keep_s) WHERE digest IN (
    SELECT digest FROM session
     WHERE digest = ANY (:digests::bytea[]) AND expires_at > now() AND seen_at < now() - interval '1 minute'
       FOR NO KEY UPDATE SKIP LOCKED);

-- name: end!
-- Deletes a session.
DELETE FROM session WHERE digest = :digest;

-- name: end_all
-- Deletes all sessions of an account but one, and its unused log-in links.
WITH links AS (DELETE FROM log_in_link WHERE account_id = :account)
DELETE FROM session WHERE account_id = :account AND (:except_digest::bytea IS NULL OR digest <> :except_digest)
RETURNING digest;

-- name: trim!
-- Deletes some expired sessions.
DELETE FROM session WHERE digest IN
    (SELECT digest FROM session WHERE expires_at <= now() ORDER BY expires_at LIMIT 100);
