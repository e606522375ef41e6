-- name: set_once$
-- The value that was said first.
INSERT INTO fact AS f (name, value) VALUES (:name, :value)
ON CONFLICT (name) DO UPDATE SET value = f.value RETURNING value;

-- name: get$
SELECT value FROM fact WHERE name = :name;

-- name: bump_version!
-- One more than before.
INSERT INTO fact AS f (name, value) VALUES (:name, '1')
ON CONFLICT (name) DO UPDATE SET value = (f.value::bigint + 1)::text;
