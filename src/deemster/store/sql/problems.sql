-- name: add_problem!
-- A problem that is new gets its row; its revision follows in the same transaction.
INSERT INTO problem (id, revision) VALUES (:id, :revision) ON CONFLICT (id) DO NOTHING;

-- name: lock_problem^
SELECT id, revision FROM problem WHERE id = :id FOR UPDATE;

-- name: add_revision!
INSERT INTO problem_revision (problem_id, digest, number, title, time_ms, memory_bytes, source_bytes, cases,
                              languages, details, imported_by)
SELECT :id, :digest, COALESCE(max(number), 0) + 1, :title, :time_ms, :memory_bytes, :source_bytes, :cases,
       :languages, :details, :imported_by
  FROM problem_revision WHERE problem_id = :id
ON CONFLICT (problem_id, digest) DO NOTHING;

-- name: put_in_force!
UPDATE problem SET revision = :digest, retired_at = NULL WHERE id = :id;

-- name: retire!
-- It can't be solved any more, until it is put in force again.
UPDATE problem SET retired_at = now() WHERE id = :id AND retired_at IS NULL;

-- name: exists$
SELECT EXISTS (SELECT FROM problem WHERE id = :id);

-- name: get^
-- What a submission is judged by.
SELECT p.id, p.retired_at, r.* FROM problem p
  JOIN problem_revision r ON r.problem_id = p.id AND r.digest = p.revision
 WHERE p.id = :id;

-- name: page
-- By id, from after one on.
SELECT p.id, r.title, r.time_ms, r.memory_bytes, r.cases, r.digest, r.number, r.languages,
       COALESCE(t.submits, 0) AS submits, COALESCE(t.accepted, 0) AS accepted
  FROM problem p
  JOIN problem_revision r ON r.problem_id = p.id AND r.digest = p.revision
  LEFT JOIN problem_tally t ON t.problem_id = p.id
 WHERE p.retired_at IS NULL AND (:after::text IS NULL OR p.id > :after)
 ORDER BY p.id LIMIT :limit;

-- name: digests
-- Of all revisions that some problem or submission refers to.
SELECT DISTINCT digest FROM problem_revision;
