-- name: claim!
-- Takes a key if it is new; a second request waits here until the first one's transaction ends.
INSERT INTO once (account_id, key, request_digest) VALUES (:account, :key, :digest) ON CONFLICT DO NOTHING;

-- name: find^
-- Reads the stored response of a key.
SELECT request_digest, status, location, sealed FROM once WHERE account_id = :account AND key = :key;

-- name: store_response!
-- Stores the response of a key.
UPDATE once SET status = :status, location = :location, sealed = :sealed
 WHERE account_id = :account AND key = :key;
