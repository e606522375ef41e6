-- name: claim!
-- A problem that is new gets its row and its owner; its revision follows in the same transaction.
INSERT INTO problem (id, revision, owner_id) VALUES (:id, :revision, :owner) ON CONFLICT (id) DO NOTHING;

-- name: locked^
-- Whose it is, and what is in force; nobody changes it meanwhile.
SELECT owner_id, revision, retired_at FROM problem WHERE id = :id FOR UPDATE;

-- name: seen^
-- Whose it is, and what is in force.
SELECT owner_id, revision, retired_at FROM problem WHERE id = :id;
