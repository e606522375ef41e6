-- name: lock_account!
-- Makes two requests of one account that create sessions wait for each other.
SELECT FROM account WHERE id = :account FOR NO KEY UPDATE;

-- name: add^
-- Creates a session with its first version; no row if the account has too many sessions without a problem, or one for
-- this problem already.
WITH added AS (
    INSERT INTO code_session (id, account_id, language, source, version, problem_id)
    SELECT :id, :account, :language, :source, 1, :problem::text
     WHERE :problem::text IS NOT NULL
        OR (SELECT count(*) FROM code_session WHERE account_id = :account AND problem_id IS NULL) < :most::int
        ON CONFLICT (account_id, problem_id) WHERE problem_id IS NOT NULL DO NOTHING
 RETURNING *
), first_version AS (
    INSERT INTO code_version (session_id, number, language, source, size_bytes)
    SELECT id, version, language, source, octet_length(source) FROM added
)
SELECT *, NULL AS latest_execution_id FROM added;

-- name: get^
-- Reads a session with its source.
SELECT s.*, (SELECT max(x.work_id) FROM execution x WHERE x.session_id = s.id) AS latest_execution_id
  FROM code_session s
 WHERE s.id = :id AND s.account_id = :account;

-- name: exists$
-- Says whether a session exists, and belongs to the account if one is named.
SELECT EXISTS (SELECT FROM code_session WHERE id = :id AND (:account::text IS NULL OR account_id = :account));

-- name: of_problem^
-- Reads the session in which the account solves a problem.
SELECT s.*, (SELECT max(x.work_id) FROM execution x WHERE x.session_id = s.id) AS latest_execution_id
  FROM code_session s
 WHERE s.account_id = :account AND s.problem_id = :problem;

-- name: page
-- Lists sessions of an account without their source, newest first, starting before one.
SELECT s.id, s.account_id, s.language, '' AS source, s.version, s.problem_id, s.created_at, s.changed_at,
       (SELECT max(x.work_id) FROM execution x WHERE x.session_id = s.id) AS latest_execution_id
  FROM code_session s
 WHERE s.account_id = :account AND (:before::text IS NULL OR s.id < :before)
 ORDER BY s.id DESC
 LIMIT :limit;

-- name: save^
-- Saves source and language as a new version, and deletes the oldest versions. No row: the session has none of the
-- expected versions, or already this content, or it was deleted. Of several saves at once, each sees the one before.
WITH saved AS (
    UPDATE code_session
       SET language = COALESCE(:language::text, language), source = COALESCE(:source::text, source),
           version = version + 1, changed_at = now()
     WHERE id = :id AND account_id = :account
       AND (:expected::int[] IS NULL OR version = ANY (:expected::int[]))
       AND (language, source) <> (COALESCE(:language::text, language), COALESCE(:source::text, source))
 RETURNING *
), new_version AS (
    INSERT INTO code_version (session_id, number, language, source, size_bytes, restored)
    SELECT id, version, language, source, octet_length(source), :restored::int FROM saved
), sizes AS (
    SELECT v.number, octet_length(s.source) + sum(v.size_bytes) OVER (ORDER BY v.number DESC) AS total_bytes
      FROM code_version v JOIN saved s ON v.session_id = s.id
), forgotten AS (
    DELETE FROM code_version v USING saved s
     WHERE v.session_id = s.id
       AND (v.number <= s.version - :kept_versions::int
            OR v.number IN (SELECT number FROM sizes WHERE total_bytes > :kept_bytes::bigint))
)
SELECT s.*, (SELECT max(x.work_id) FROM execution x WHERE x.session_id = s.id) AS latest_execution_id FROM saved s;

-- name: versions
-- Lists versions without their source, newest first, starting before one.
SELECT number, language, '' AS source, size_bytes, restored, saved_at FROM code_version
 WHERE session_id = :id AND (:before::int IS NULL OR number < :before)
 ORDER BY number DESC
 LIMIT :limit;

-- name: version^
-- Reads one version.
SELECT number, language, source, size_bytes, restored, saved_at FROM code_version
 WHERE session_id = :id AND number = :number::int;

-- name: lock^
-- Locks a session, so that no execution of it can be added until it is deleted.
SELECT id FROM code_session WHERE id = :id AND account_id = :account FOR UPDATE;

-- name: unfinished_executions
-- Lists the executions of a session that have not ended.
SELECT w.id FROM work w JOIN execution x ON x.work_id = w.id
 WHERE x.session_id = :id AND w.finished_at IS NULL
 ORDER BY w.id;

-- name: delete_ended_executions$
-- Deletes some executions of a session that have ended; returns how many.
WITH gone AS (
    DELETE FROM work WHERE id = ANY (ARRAY(
        SELECT w.id FROM work w JOIN execution x ON x.work_id = w.id
         WHERE x.session_id = :id AND w.finished_at IS NOT NULL
         LIMIT :limit))
    RETURNING id
)
SELECT count(*) FROM gone;

-- name: delete_executions!
-- Deletes all executions of a session, with their output.
DELETE FROM work WHERE id IN (SELECT work_id FROM execution WHERE session_id = :id);

-- name: delete!
-- Deletes a session with its versions.
DELETE FROM code_session WHERE id = :id;
