-- name: record!
-- Adds an entry to the audit log.
INSERT INTO audit (account_id, actor, act, target, details, request_id)
VALUES (:account, :actor, :act, :target, :details, :request_id);

-- name: page
-- Lists entries, newest first, starting before one.
SELECT id, at, account_id AS account, actor, act, target, details, request_id FROM audit
 WHERE (:before::bigint IS NULL OR id < :before)
   AND (:actor::text IS NULL OR actor = :actor)
   AND (:act::text IS NULL OR act = :act)
   AND (:target::text IS NULL OR target = :target)
 ORDER BY id DESC LIMIT :limit;
