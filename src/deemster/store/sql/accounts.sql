-- name: add!
INSERT INTO account (id, name, role) VALUES (:id, :name, :role) ON CONFLICT (name) DO NOTHING;

-- name: of_name^
SELECT id, name, role, created_at, disabled_at FROM account WHERE name = :name;

-- name: page
SELECT id, name, role, created_at, disabled_at FROM account ORDER BY name;

-- name: add_token!
INSERT INTO token (id, account_id, name, digest, scopes, expires_at)
VALUES (:id, :account, :name, :digest, :scopes::text[],
        CASE WHEN :days::int IS NOT NULL THEN now() + make_interval(days => :days::int) END);

-- name: of_token^
-- Who holds it, if it is good.
SELECT a.id, a.name, a.role, a.tier, a.daily_quota, t.id AS token_id, t.scopes
  FROM token t JOIN account a ON a.id = t.account_id
 WHERE t.digest = :digest AND t.revoked_at IS NULL AND a.disabled_at IS NULL
   AND (t.expires_at IS NULL OR t.expires_at > now());

-- name: used!
-- Seen now; written at most once a minute.
UPDATE token SET last_used_at = now()
 WHERE id = :id AND (last_used_at IS NULL OR last_used_at < now() - interval '1 minute');

-- name: revoke!
UPDATE token SET revoked_at = now() WHERE id = :id AND revoked_at IS NULL;
