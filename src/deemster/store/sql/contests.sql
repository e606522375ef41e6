-- name: add!
-- Adds a contest.
INSERT INTO contest (id, title, opens_at, closes_at, problems, stages, made_by)
VALUES (:id, :title, :opens_at, :closes_at, :problems, :stages::text[], :made_by);

-- name: update$
-- Replaces a contest's plan.
UPDATE contest SET title = :title, opens_at = :opens_at, closes_at = :closes_at, problems = :problems,
                   stages = :stages::text[]
 WHERE id = :id
RETURNING id;

-- name: get^
-- Reads one contest, with times relative to the database's clock.
SELECT id, title, opens_at, closes_at, problems, stages,
       extract(epoch FROM opens_at - now())::float AS opens_in_s,
       extract(epoch FROM closes_at - now())::float AS closes_in_s
  FROM contest WHERE id = :id;

-- name: page
-- Lists contests, newest first, starting before one.
SELECT id, title, opens_at, closes_at, problems, stages,
       extract(epoch FROM opens_at - now())::float AS opens_in_s,
       extract(epoch FROM closes_at - now())::float AS closes_in_s
  FROM contest WHERE :before::text IS NULL OR id < :before
 ORDER BY id DESC LIMIT :limit;

-- name: unknown_problems
-- Lists which of these problems do not exist or are retired.
SELECT w.id FROM unnest(:problems::text[]) AS w (id)
 WHERE NOT EXISTS (SELECT FROM problem p WHERE p.id = w.id AND p.retired_at IS NULL AND NOT p.unlisted)
 ORDER BY w.id;
