-- name: lock!
-- Of many first requests of a newcomer one makes the account.
SELECT pg_advisory_xact_lock(hashtextextended(:issuer || ' ' || :subject, 0));

-- name: find^
SELECT a.id, a.name, a.role, a.tier, a.daily_quota, a.disabled_at, i.newest_iat
  FROM identity i JOIN account a ON a.id = i.account_id
 WHERE i.issuer = :issuer AND i.subject = :subject;

-- name: add!
INSERT INTO identity (issuer, subject, account_id, newest_iat) VALUES (:issuer, :subject, :account, :iat);

-- name: update_newest_iat!
UPDATE identity SET newest_iat = greatest(newest_iat, :iat) WHERE issuer = :issuer AND subject = :subject;
