-- name: stage_details^
-- Reads what a worker needs to run the present stage of a submission.
SELECT s.id, s.state, s.attempt, s.account_id, s.problem_id, s.revision, s.language, s.main, s.source, s.verdict,
       s.stages, s.stage_tries, EXISTS (SELECT FROM lease l WHERE l.work_id = s.id) AS is_leased
  FROM submission s WHERE s.id = :id;

-- name: count_scores!
-- Adds the scores of a submission to the sums of its problem.
INSERT INTO analysis_tally AS t (problem_id, category, analyzed, points)
SELECT s.problem_id, score.key, 1, score.value::int
  FROM submission s
  JOIN analysis a ON a.work_id = s.id, jsonb_each_text(a.scores) score
 WHERE s.id = :id AND s.archived_at IS NULL AND score.value IS NOT NULL
 ORDER BY score.key
ON CONFLICT (problem_id, category) DO UPDATE
   SET analyzed = t.analyzed + EXCLUDED.analyzed, points = t.points + EXCLUDED.points;
