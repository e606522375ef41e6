-- name: claim!
-- Adds a problem that is new, with its owner; its revision follows in the same transaction. No stages follow the
-- verdicts of an unlisted one.
INSERT INTO problem (id, revision, owner_id, unlisted, published, stages)
VALUES (:id, :revision, :owner, :unlisted, :published, CASE WHEN :unlisted THEN '{}'::text[] END)
ON CONFLICT (id) DO NOTHING;

-- name: get_ownership^
-- Reads the owner and the current revision of a problem.
SELECT owner_id, revision, retired_at, published FROM problem WHERE id = :id;

-- name: lock_ownership^
-- Reads the same and locks the problem's row.
SELECT owner_id, revision, retired_at, published FROM problem WHERE id = :id FOR UPDATE;

-- name: add_revision!
-- Adds a revision with the next number, unless the problem has it.
INSERT INTO problem_revision (problem_id, digest, number, title, time_ms, memory_bytes, source_bytes, cases,
                              languages, details, imported_by)
SELECT :id, :digest, COALESCE(max(number), 0) + 1, :title, :time_ms, :memory_bytes, :source_bytes, :cases,
       :languages, :details, :imported_by
  FROM problem_revision WHERE problem_id = :id
ON CONFLICT (problem_id, digest) DO NOTHING;

-- name: set_revision!
-- Makes a revision the current one; a retired problem returns.
UPDATE problem SET revision = :digest, retired_at = NULL WHERE id = :id;

-- name: set_published!
-- Shows a problem to all users, or only to its author and to admins.
UPDATE problem SET published = :published WHERE id = :id;

-- name: get_stages$
-- Reads the stages that follow a verdict; NULL if the problem does not decide that.
SELECT stages FROM problem WHERE id = :id;

-- name: set_stages!
-- Sets the stages that follow a verdict.
UPDATE problem SET stages = :stages::text[] WHERE id = :id;

-- name: retire!
-- Closes a problem for submissions until a revision is published again.
UPDATE problem SET retired_at = now() WHERE id = :id AND retired_at IS NULL;

-- name: exists$
-- Tells whether there is such a problem, retired or not.
SELECT EXISTS (SELECT FROM problem WHERE id = :id);

-- name: get^
-- Reads a problem with its current revision.
SELECT p.id, p.retired_at, p.unlisted, p.published, p.owner_id, r.* FROM problem p
  JOIN problem_revision r ON r.problem_id = p.id AND r.digest = p.revision
 WHERE p.id = :id;

-- name: page
-- Lists published problems by id, starting after one; or those that are not published, of one author or of all.
SELECT p.id, r.title, r.time_ms, r.memory_bytes, r.cases, r.number,
       COALESCE(t.submits, 0) AS submits, COALESCE(t.accepted, 0) AS accepted
  FROM problem p
  JOIN problem_revision r ON r.problem_id = p.id AND r.digest = p.revision
  LEFT JOIN problem_tally t ON t.problem_id = p.id
 WHERE p.retired_at IS NULL AND NOT p.unlisted AND p.published <> :drafts
   AND (:owner::text IS NULL OR p.owner_id = :owner) AND (:after::text IS NULL OR p.id > :after)
 ORDER BY p.id LIMIT :limit;
