-- name: claim!
-- The key, for whoever is first; others wait here until that one has ended.
INSERT INTO once (account_id, key, request_digest) VALUES (:account, :key, :digest) ON CONFLICT DO NOTHING;

-- name: find^
SELECT request_digest, status, location, sealed FROM once WHERE account_id = :account AND key = :key;

-- name: store_response!
UPDATE once SET status = :status, location = :location, sealed = :sealed
 WHERE account_id = :account AND key = :key;
