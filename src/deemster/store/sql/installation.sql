-- name: set_once$
-- Stores a value unless there is one, and returns the stored one.
INSERT INTO fact AS f (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = f.value RETURNING value;

-- name: get$
-- Reads a value.
SELECT value FROM fact WHERE name = :name;

-- name: bump_version!
-- Adds one to a number.
INSERT INTO fact AS f (name, value) VALUES (:name, '1')
ON CONFLICT (name) DO UPDATE SET value = (f.value::bigint + 1)::text;
