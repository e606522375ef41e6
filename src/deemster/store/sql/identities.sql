-- name: lock!
-- Of many first requests of a subject, one creates the account.
SELECT pg_advisory_xact_lock(hashtextextended(:issuer || ' ' || :subject, 0));

-- name: find^
-- Finds the account of an issuer's subject.
SELECT a.id, a.name, a.role, a.tier, a.daily_quota, a.disabled_at, i.newest_iat
  FROM identity i JOIN account a ON a.id = i.account_id
 WHERE i.issuer = :issuer AND i.subject = :subject;

-- name: add!
-- Links an issuer's subject to an account.
INSERT INTO identity (issuer, subject, account_id, newest_iat) VALUES (:issuer, :subject, :account, :iat);

-- name: update_newest_iat!
-- Records the time of the newest token that was seen.
UPDATE identity SET newest_iat = greatest(newest_iat, :iat) WHERE issuer = :issuer AND subject = :subject;
