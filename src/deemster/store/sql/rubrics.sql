-- name: in_force^
-- Reads the newest rubric of a problem; without one, the newest general rubric.
SELECT id, problem_id, number, digest, title, yaml, created_by, created_at, retired_at FROM rubric
 WHERE (problem_id = :problem OR problem_id IS NULL) AND retired_at IS NULL
 ORDER BY problem_id IS NULL, number DESC LIMIT 1;

-- name: get^
-- Reads one version.
SELECT id, problem_id, number, digest, title, yaml, created_by, created_at, retired_at FROM rubric WHERE id = :id;

-- name: page
-- Lists versions, newest first, starting before one.
SELECT id, problem_id, number, digest, title, yaml, created_by, created_at, retired_at FROM rubric
 WHERE (:before::text IS NULL OR id < :before) AND (:problem::text IS NULL OR problem_id = :problem)
 ORDER BY id DESC LIMIT :limit;

-- name: lock!
-- Makes those who add versions wait for each other.
LOCK TABLE rubric IN SHARE ROW EXCLUSIVE MODE;

-- name: newest^
-- Reads the newest version of one problem, or of the general rubric.
SELECT id, problem_id, number, digest, title, yaml, created_by, created_at, retired_at FROM rubric
 WHERE problem_id IS NOT DISTINCT FROM :problem ORDER BY number DESC LIMIT 1;

-- name: add!
-- Adds a version.
INSERT INTO rubric (id, problem_id, number, digest, title, yaml, created_by)
VALUES (:id, :problem, :number, :digest, :title, :yaml, :created_by);

-- name: retire$
-- Takes a version out of force; the newest of those that remain is used then.
UPDATE rubric SET retired_at = now() WHERE id = :id AND retired_at IS NULL RETURNING id;
