-- What lists of problems are searched, filtered and sorted by. An import sets it together with the revision in force.
ALTER TABLE problem
    ADD COLUMN sort_title text COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN words tsvector NOT NULL DEFAULT '',
    ADD COLUMN tags text[] NOT NULL DEFAULT '{}',
    ADD COLUMN level smallint CHECK (level BETWEEN 1 AND 10);

UPDATE problem p
   SET sort_title = lower(r.title),
       words = array_to_tsvector(array_remove(regexp_split_to_array(
           lower(concat_ws(' ', r.title, substr(p.id, 6), k.keywords)), '[^[:alnum:]]+'), '')),
       tags = COALESCE(k.tags, '{}'),
       level = k.level
  FROM problem_revision r
 CROSS JOIN LATERAL (
     SELECT string_agg(word, ' ') AS keywords,
            array_agg(lower(word)) FILTER (WHERE word !~ '^level-(10|[1-9])$') AS tags,
            max(substr(word, 7)::smallint) FILTER (WHERE word ~ '^level-(10|[1-9])$') AS level
       FROM jsonb_array_elements_text(COALESCE(r.details -> 'keywords', '[]')) AS word) k
 WHERE r.problem_id = p.id AND r.digest = p.revision;

CREATE INDEX problem_search ON problem USING gin (words, tags);
CREATE INDEX problem_by_title ON problem (sort_title, id) WHERE retired_at IS NULL AND NOT unlisted;

-- Problems with their counters. Without a level of the author's, the difficulty comes from the acceptance rate, once ten
-- submissions were judged: 1 if all were accepted, 10 if none was.
CREATE VIEW listed_problem AS
SELECT p.id, p.revision, p.owner_id, p.created_at, p.published, p.sort_title, p.words, p.tags,
       COALESCE(t.submits, 0) AS submits, COALESCE(t.accepted, 0) AS accepted,
       COALESCE(p.level, CASE WHEN t.submits >= 10 THEN 10 - 9 * t.accepted / t.submits END)::integer AS level,
       p.level IS NOT NULL AS level_given
  FROM problem p
  LEFT JOIN problem_tally t ON t.problem_id = p.id
 WHERE p.retired_at IS NULL AND NOT p.unlisted;
