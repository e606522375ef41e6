-- name: add!
INSERT INTO contest (id, title, opens_at, closes_at, problems, made_by)
VALUES (:id, :title, :opens_at, :closes_at, :problems, :made_by);

-- name: update$
-- All of it is said anew; nothing if there is no such contest.
UPDATE contest SET title = :title, opens_at = :opens_at, closes_at = :closes_at, problems = :problems
 WHERE id = :id
RETURNING id;

-- name: get^
SELECT id, title, opens_at, closes_at, problems,
       extract(epoch FROM opens_at - now())::float AS opens_in_s,
       extract(epoch FROM closes_at - now())::float AS closes_in_s
  FROM contest WHERE id = :id;

-- name: page
-- Newest first, from before one on.
SELECT id, title, opens_at, closes_at, problems,
       extract(epoch FROM opens_at - now())::float AS opens_in_s,
       extract(epoch FROM closes_at - now())::float AS closes_in_s
  FROM contest WHERE :before::text IS NULL OR id < :before
 ORDER BY id DESC LIMIT :limit;

-- name: unknown_problems
-- Of these, those that there are not.
SELECT w.id FROM unnest(:problems::text[]) AS w (id)
 WHERE NOT EXISTS (SELECT FROM problem p WHERE p.id = w.id AND p.retired_at IS NULL)
 ORDER BY w.id;
