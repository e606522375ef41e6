-- name: lock_account^
-- Makes the account's writers wait for each other, so that the sum below is exact.
SELECT id FROM account WHERE id = :account FOR NO KEY UPDATE;

-- name: others_bytes$
-- Adds up the sizes of the account's files, except the one that is replaced.
SELECT coalesce(sum(size), 0)::bigint FROM client_file WHERE account_id = :account AND name <> :name;

-- name: put!
-- Stores a file, or replaces it.
INSERT INTO client_file (account_id, name, content) VALUES (:account, :name, :content)
ON CONFLICT (account_id, name) DO UPDATE SET content = excluded.content, used_at = now();

-- name: touch$
-- Notes that the file is used now; no row if there is none.
UPDATE client_file SET used_at = now() WHERE account_id = :account AND name = :name RETURNING name;

-- name: read
-- Reads files by name, and notes that they are used now.
UPDATE client_file SET used_at = now() WHERE account_id = :account AND name = ANY (:names::text[])
RETURNING name, content;

-- name: delete_unused$
-- Deletes files that were last used long ago; returns how many.
WITH gone AS (
    DELETE FROM client_file WHERE (account_id, name) IN (
        SELECT account_id, name FROM client_file WHERE used_at < now() - make_interval(secs => :unused_s)
         ORDER BY used_at LIMIT :limit)
    RETURNING 1
)
SELECT count(*) FROM gone;
