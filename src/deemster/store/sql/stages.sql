-- name: stage_details^
-- Reads what a worker needs to run the present stage of a submission.
SELECT s.id, s.state, s.attempt, s.account_id, s.problem_id, s.revision, s.language, s.main, s.source, s.verdict,
       s.stages, s.stage_tries, EXISTS (SELECT FROM lease l WHERE l.work_id = s.id) AS is_leased,
       extract(epoch FROM now() - COALESCE(s.judged_at, s.submitted_at))::float AS age_s
  FROM submission s WHERE s.id = :id;

-- name: lock!
-- Locks a submission, so that no trial replaces it meanwhile.
SELECT FROM work WHERE id = :id FOR NO KEY UPDATE;

-- name: copy_to_successor$
-- Copies the analysis of a submission to the trial that has replaced it, unless it was there when that was applied.
-- Locks the trial, so that no other replaces it meanwhile.
WITH successor AS (
    SELECT id, attempt FROM work WHERE rejudge_of = :id AND applied_in IS NOT NULL FOR NO KEY UPDATE
), copied AS (
    INSERT INTO analysis (work_id, attempt, sarif, scores, tools, findings, analyzed_at)
    SELECT s.id, s.attempt, a.sarif, a.scores, a.tools, a.findings, a.analyzed_at
      FROM successor s, analysis a WHERE a.work_id = :id
    ON CONFLICT DO NOTHING
)
SELECT id FROM successor;

-- name: awaits_analysis$
-- Tells whether an earlier submission, which this one replaced (after any number of sets), is in a stage and will pass
-- its analysis on to this one.
WITH RECURSIVE replaced AS (
    SELECT rejudge_of AS id FROM work WHERE id = :id AND COALESCE(applied_in, staged_in) IS NOT NULL
     UNION ALL
    SELECT w.rejudge_of FROM replaced r JOIN work w ON w.id = r.id WHERE w.applied_in IS NOT NULL
)
SELECT EXISTS (SELECT FROM replaced r JOIN work w ON w.id = r.id
                WHERE 'submission:analyze' = ANY (w.stages)
                   OR w.stages IS NOT NULL AND EXISTS (SELECT FROM analysis a WHERE a.work_id = w.id));

-- name: count_scores!
-- Adds the scores of a submission to the sums of its problem, once.
WITH counted AS (
    UPDATE analysis a SET counted = true
      FROM submission s
     WHERE a.work_id = :id AND s.id = a.work_id AND NOT a.counted AND s.archived_at IS NULL
 RETURNING s.problem_id, a.scores
)
INSERT INTO analysis_tally AS t (problem_id, category, analyzed, points)
SELECT problem_id, score.key, 1, score.value::int
  FROM counted, jsonb_each_text(scores) score WHERE score.value IS NOT NULL ORDER BY score.key
ON CONFLICT (problem_id, category) DO UPDATE
   SET analyzed = t.analyzed + EXCLUDED.analyzed, points = t.points + EXCLUDED.points;

-- name: uncount_scores!
-- Takes the scores of a submission that was archived out of the sums again.
WITH uncounted AS (
    UPDATE analysis a SET counted = false
      FROM submission s
     WHERE a.work_id = :id AND s.id = a.work_id AND a.counted
 RETURNING s.problem_id, a.scores
), locked AS (
    SELECT t.problem_id, t.category, score.value::int AS points
      FROM uncounted u, jsonb_each_text(u.scores) score, analysis_tally t
     WHERE t.problem_id = u.problem_id AND t.category = score.key AND score.value IS NOT NULL
     ORDER BY t.category FOR NO KEY UPDATE OF t
)
UPDATE analysis_tally t SET analyzed = t.analyzed - 1, points = t.points - l.points
  FROM locked l WHERE t.problem_id = l.problem_id AND t.category = l.category;

-- name: score_sums
-- Reads the sums of a problem.
SELECT category, analyzed, points FROM analysis_tally WHERE problem_id = :problem AND analyzed > 0 ORDER BY category;

-- name: find_mismatches
-- Lists sums that differ from the analyses; there should be none.
WITH truth AS (
    SELECT s.problem_id, score.key AS category, count(*) AS analyzed, sum(score.value::int) AS points
      FROM analysis a JOIN submission s ON s.id = a.work_id, jsonb_each_text(a.scores) score
     WHERE a.counted AND score.value IS NOT NULL GROUP BY 1, 2
)
SELECT problem_id, category
  FROM truth t FULL JOIN analysis_tally c USING (problem_id, category)
 WHERE (COALESCE(t.analyzed, 0), COALESCE(t.points, 0)) <> (COALESCE(c.analyzed, 0), COALESCE(c.points, 0));
