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
-- Makes a revision the current one, with what lists need of it; a retired problem returns.
UPDATE problem
   SET revision = :digest, retired_at = NULL, sort_title = :sort_title, words = array_to_tsvector(:words::text[]),
       tags = :tags::text[], level = :level
 WHERE id = :id;

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

-- name: list_titles
-- Reads the titles of some problems, also of those that are retired, by language.
SELECT p.id, r.title, r.details->'names' AS names FROM problem p
  JOIN problem_revision r ON r.problem_id = p.id AND r.digest = p.revision
 WHERE p.id = ANY (:ids::text[]);

-- name: page
-- Lists published problems that match all filters, starting after one, with the result of an account; or those that are
-- not published, of one author or of all. The conditions for each order are apart, so that its index is used. A list
-- starts only after one of its own: where it starts would tell of a draft whether it exists, and what comes before it.
WITH listed AS NOT MATERIALIZED (
    SELECT p.*, CASE WHEN m.accepted > 0 THEN 'solved' WHEN m.submits > 0 THEN 'tried' ELSE 'open' END AS result,
           CASE :sort::text WHEN 'difficulty' THEN COALESCE(p.level, 99)::float WHEN 'solved' THEN -p.accepted::float
                            WHEN 'newest' THEN -extract(epoch FROM p.created_at)::float ELSE 0 END AS place
      FROM listed_problem p
      LEFT JOIN account_tally m ON m.problem_id = p.id AND m.account_id = :account::text
)
SELECT p.id, r.title, r.time_ms, r.memory_bytes, r.cases, r.number, p.submits, p.accepted, p.tags, p.level,
       p.level_given, p.result
  FROM listed p
  JOIN problem_revision r ON r.problem_id = p.id AND r.digest = p.revision
 WHERE p.published <> :drafts AND (:owner::text IS NULL OR p.owner_id = :owner)
   AND (:words::text IS NULL OR p.words @@ :words::text::tsquery)
   AND (:tags::text[] IS NULL OR p.tags @> :tags)
   AND (:lowest::int IS NULL OR p.level BETWEEN :lowest AND :highest::int)
   AND (:result::text IS NULL OR p.result = :result)
   AND (:after::text IS NULL OR :sort <> 'id' OR p.id > :after)
   AND (:after IS NULL OR :sort <> 'title'
        OR (p.sort_title, p.id) > ((SELECT l.sort_title FROM problem l
                                     WHERE l.id = :after AND l.published <> :drafts
                                       AND (:owner IS NULL OR l.owner_id = :owner)), :after))
   AND (:after IS NULL OR :sort IN ('id', 'title')
        OR (p.place, p.id) > ((SELECT l.place FROM listed l
                                WHERE l.id = :after AND l.published <> :drafts
                                  AND (:owner IS NULL OR l.owner_id = :owner)), :after))
 ORDER BY p.place, CASE WHEN :sort = 'title' THEN p.sort_title ELSE '' END, p.id
 LIMIT :limit;

-- name: common_tags
-- Lists the tags of published problems, the most frequent first.
SELECT tag, count(*) AS problems
  FROM listed_problem p, unnest(p.tags) AS tag
 WHERE p.published
 GROUP BY tag ORDER BY count(*) DESC, tag LIMIT :limit;
