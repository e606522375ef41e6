-- name: list_unread
-- Lists finished submissions whose fingerprints are missing, or of another algorithm, oldest first. Submissions
-- that ended shortly before the cursor are looked at again: their transactions may have been committed later.
SELECT w.id, w.problem_id, w.language, w.main, w.source, w.finished_at
  FROM work w
 WHERE w.kind = 'submission' AND w.state = 'COMPLETED' AND w.rejudge_of IS NULL AND w.example IS NULL
   AND w.finished_at >= COALESCE((SELECT c.finished_at FROM similarity_cursor c WHERE c.algorithm = :algorithm)
                                 - make_interval(secs => :overlap_s::float), '-infinity')
   AND NOT EXISTS (SELECT FROM similarity_program p
                    WHERE p.submission_id = w.id AND p.algorithm = :algorithm)
 ORDER BY w.finished_at
 LIMIT :limit;

-- name: move_cursor!
-- Notes up to which time submissions were read.
INSERT INTO similarity_cursor (algorithm, finished_at) VALUES (:algorithm, :finished_at)
ON CONFLICT (algorithm) DO UPDATE SET finished_at = GREATEST(similarity_cursor.finished_at, EXCLUDED.finished_at);

-- name: put_program!
-- Stores the fingerprints of a submission, or why it has none. Pairs of an older algorithm are deleted.
WITH outdated AS (
    DELETE FROM similarity_pair
     WHERE (left_id = :id OR right_id = :id)
       AND EXISTS (SELECT FROM similarity_program p WHERE p.submission_id = :id AND p.algorithm <> :algorithm)
)
INSERT INTO similarity_program (submission_id, problem_id, lexer, algorithm, files, fingerprints, refusal, reason)
VALUES (:id, :problem, :lexer, :algorithm, :files, :fingerprints, :refusal, :reason)
ON CONFLICT (submission_id) DO UPDATE
   SET lexer = EXCLUDED.lexer, algorithm = EXCLUDED.algorithm, files = EXCLUDED.files,
       fingerprints = EXCLUDED.fingerprints, refusal = EXCLUDED.refusal, reason = EXCLUDED.reason,
       compared_at = NULL
 WHERE similarity_program.algorithm <> EXCLUDED.algorithm;

-- name: next_group^
-- Finds a problem and lexer with submissions that are not compared.
SELECT problem_id, lexer FROM similarity_program
 WHERE compared_at IS NULL AND refusal IS NULL AND algorithm = :algorithm
 LIMIT 1;

-- name: list_uncompared
-- Lists fingerprints that are not compared, oldest first.
SELECT p.submission_id, w.account_id, p.fingerprints
  FROM similarity_program p JOIN work w ON w.id = p.submission_id
 WHERE p.problem_id = :problem AND p.lexer = :lexer AND p.algorithm = :algorithm
   AND p.compared_at IS NULL AND p.refusal IS NULL
 ORDER BY p.submission_id
 LIMIT :limit;

-- name: list_programs
-- Lists the fingerprints of a problem, oldest first, starting after a submission.
SELECT p.submission_id, w.account_id, p.fingerprints
  FROM similarity_program p JOIN work w ON w.id = p.submission_id
 WHERE p.problem_id = :problem AND p.lexer = :lexer AND p.algorithm = :algorithm AND p.refusal IS NULL
   AND p.submission_id > :after
 ORDER BY p.submission_id
 LIMIT :limit;

-- name: get_programs
-- Reads the fingerprints of some submissions.
SELECT p.submission_id, w.account_id, p.fingerprints
  FROM similarity_program p JOIN work w ON w.id = p.submission_id
 WHERE p.submission_id = ANY (:ids::text[]) AND p.algorithm = :algorithm AND p.refusal IS NULL;

-- name: count_authors$
-- Counts the authors of a problem's submissions.
SELECT count(DISTINCT w.account_id)
  FROM similarity_program p JOIN work w ON w.id = p.submission_id
 WHERE p.problem_id = :problem AND p.lexer = :lexer AND p.algorithm = :algorithm AND p.refusal IS NULL;

-- name: compare_again!
-- Marks all submissions of a problem as not compared if its authors have doubled since this was last done.
WITH grown AS (
    INSERT INTO similarity_authors AS a (problem_id, lexer, authors) VALUES (:problem, :lexer, :authors)
    ON CONFLICT (problem_id, lexer) DO UPDATE SET authors = EXCLUDED.authors
     WHERE EXCLUDED.authors >= 2 * a.authors
 RETURNING problem_id
)
UPDATE similarity_program p SET compared_at = NULL
  FROM grown
 WHERE p.problem_id = :problem AND p.lexer = :lexer AND p.compared_at IS NOT NULL;

-- name: list_partners
-- Lists the submissions that have a pair with one of these.
SELECT left_id, right_id FROM similarity_pair
 WHERE left_id = ANY (:ids::text[]) OR right_id = ANY (:ids::text[]);

-- name: put_pairs!
-- Stores pairs, and replaces what was stored of them.
INSERT INTO similarity_pair (left_id, right_id, problem_id, left_share, right_share, symbols, regions)
SELECT n.left_id, n.right_id, :problem, n.left_share, n.right_share, n.symbols, n.regions::jsonb
  FROM unnest(:lefts::text[], :rights::text[], :left_shares::int[], :right_shares::int[], :symbols::int[],
              :regions::text[])
       AS n (left_id, right_id, left_share, right_share, symbols, regions)
  JOIN similarity_program l ON l.submission_id = n.left_id
  JOIN similarity_program r ON r.submission_id = n.right_id
 ORDER BY n.left_id, n.right_id
ON CONFLICT (left_id, right_id) DO UPDATE
   SET left_share = EXCLUDED.left_share, right_share = EXCLUDED.right_share,
       symbols = EXCLUDED.symbols, regions = EXCLUDED.regions;

-- name: delete_pairs!
-- Deletes pairs that are no longer similar, because more authors share the same code.
DELETE FROM similarity_pair p
 USING unnest(:lefts::text[], :rights::text[]) AS d (left_id, right_id)
 WHERE p.left_id = d.left_id AND p.right_id = d.right_id;

-- name: mark_compared!
-- Notes that submissions were compared.
UPDATE similarity_program SET compared_at = now() WHERE submission_id = ANY (:ids::text[]);

-- name: starters$
-- Reads the starter files of a problem's current revision.
SELECT r.details -> 'starters'
  FROM problem p JOIN problem_revision r ON r.problem_id = p.id AND r.digest = p.revision
 WHERE p.id = :problem;

-- name: progress^
-- Counts how many of a problem's finished submissions were read and compared.
SELECT count(*) AS submissions,
       count(*) FILTER (WHERE p.compared_at IS NOT NULL) AS compared,
       count(*) FILTER (WHERE p.refusal = 'too_short') AS too_short,
       count(*) FILTER (WHERE p.refusal = 'failed') AS failed
  FROM work w LEFT JOIN similarity_program p ON p.submission_id = w.id
 WHERE w.problem_id = :problem AND w.kind = 'submission' AND w.state = 'COMPLETED' AND w.rejudge_of IS NULL;

-- name: page_of_problem
-- Lists the most similar pair of every two authors, most similar first, after a pair.
WITH best AS (
    SELECT DISTINCT ON (LEAST(left_account, right_account), GREATEST(left_account, right_account)) *
      FROM shown_similarity_pair
     WHERE problem_id = :problem AND similarity >= :at_least::int
     ORDER BY LEAST(left_account, right_account), GREATEST(left_account, right_account),
              similarity DESC, LEAST(left_share, right_share) DESC, left_id, right_id
)
SELECT * FROM best
 WHERE :after::int IS NULL
    OR (-similarity::int, left_id, right_id) > (-:after::int, :after_left::text, :after_right::text)
 ORDER BY similarity DESC, left_id, right_id
 LIMIT :limit;

-- name: list_of_submission
-- Lists the submissions that are similar to one, most similar first.
SELECT * FROM shown_similarity_pair
 WHERE left_id = :id OR right_id = :id
 ORDER BY similarity DESC, left_id, right_id
 LIMIT :limit;

-- name: list_links
-- Lists the pairs of a problem from which clusters are computed, most similar first.
SELECT left_id, right_id FROM similarity_pair
 WHERE problem_id = :problem AND similarity >= :at_least::int
 ORDER BY similarity DESC
 LIMIT :limit;

-- name: list_authors
-- Reads the authors of some submissions.
SELECT w.id, w.account_id, a.name FROM work w JOIN account a ON a.id = w.account_id
 WHERE w.id = ANY (:ids::text[]);

-- name: get_program^
-- Reads whether a submission was compared.
SELECT p.refusal, p.reason, p.compared_at FROM similarity_program p WHERE p.submission_id = :id;

-- name: list_languages
-- Counts a problem's finished submissions by language.
SELECT language, count(DISTINCT account_id) AS authors FROM work
 WHERE problem_id = :problem AND kind = 'submission' AND state = 'COMPLETED' AND rejudge_of IS NULL
 GROUP BY language;

-- name: list_newest
-- Lists one submission of each author in some languages: the newest accepted one, or else the newest.
SELECT DISTINCT ON (w.account_id) w.id, a.name, w.language, w.main, w.source, w.verdict, w.submitted_at
  FROM work w JOIN account a ON a.id = w.account_id
 WHERE w.problem_id = :problem AND w.kind = 'submission' AND w.state = 'COMPLETED' AND w.rejudge_of IS NULL AND w.example IS NULL
   AND w.language = ANY (:languages::text[])
 ORDER BY w.account_id, (w.verdict = 'Accepted') DESC, w.id DESC
 LIMIT :limit;
