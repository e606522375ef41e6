-- name: advance
-- Advances submissions, executions and requested analyses. Those missing in the answer had another state, stage or
-- attempt. A worker that starts one gets the lease; one that ends, enters a stage or goes back to the queue has no lease
-- any more.
WITH matching AS (
    SELECT s.id, s.state AS was FROM work s
      JOIN unnest(:ids::text[], :attempts::int[]) AS w (id, attempt) ON w.id = s.id AND w.attempt = s.attempt
     WHERE s.state = ANY (:sources::text[]) AND s.stages[1] IS NOT DISTINCT FROM :in_stage::text
     ORDER BY s.id
       FOR UPDATE OF s
), advanced AS (
    UPDATE work s
       SET state       = COALESCE(:target::text, s.state),
           attempt     = s.attempt + :bump::int,
           dispatch    = s.dispatch + :dispatch_bump::int,
           stages      = CASE WHEN :keeps_stage::bool THEN s.stages ELSE :stages::text[] END,
           stage_tries = CASE WHEN :keeps_stage::bool THEN s.stage_tries + :bump::int ELSE 0 END,
           changed_at  = now(),
           started_at  = CASE WHEN :starts::bool THEN now() ELSE s.started_at END,
           judged_at   = CASE WHEN was = 'RUNNING' AND :stages::text[] IS NOT NULL THEN now() ELSE s.judged_at END,
           finished_at = CASE WHEN :ends::bool THEN now() END,
           failure     = CASE WHEN :target::text = 'FAILED' THEN :reason::text ELSE s.failure END
      FROM matching
     WHERE s.id = matching.id
 RETURNING s.id, s.state, s.attempt, s.dispatch, s.account_id, s.webhook_url, s.webhook_format, s.staged_in,
           s.archived_at, s.kind, was IN ('ANALYZING', 'AI_EVALUATING') AS was_in_stage
), new_events AS (
    INSERT INTO work_event (work_id, event, state, attempt, reason)
    SELECT id, :event, state, attempt, :reason::text FROM advanced
), leased AS (
    INSERT INTO lease (work_id, attempt, worker_id, lease_s)
    SELECT id, attempt, :worker::text, :lease_s::float FROM advanced WHERE :worker::text IS NOT NULL
    ON CONFLICT (work_id) DO UPDATE
       SET attempt = EXCLUDED.attempt, worker_id = EXCLUDED.worker_id, lease_s = EXCLUDED.lease_s,
           beat_at = now(), cases_done = 0, cases_total = 0, cases = '[]'
), released AS (
    DELETE FROM lease l USING advanced a WHERE :releases::bool AND l.work_id = a.id
), new_webhooks AS (
    -- Trials of a rejudging send no webhooks. The last digit of the second webhook's id differs from the first's.
    INSERT INTO webhook_delivery (id, work_id, account_id, kind, url, format, ordinal)
    SELECT 'whd_' || CASE WHEN was_in_stage THEN substr(id, 5, length(id) - 5) ||
                  translate(right(id, 1), '0123456789abcdefghjkmnpqrstvwxyz', '123456789abcdefghjkmnpqrstvwxyz0')
                          ELSE substr(id, 5) END,
           id, account_id, kind || CASE WHEN was_in_stage THEN '.evaluated' ELSE '.finished' END, webhook_url,
           COALESCE(webhook_format, 'standard'), CASE WHEN webhook_format = 'heng' THEN 4 ELSE 0 END
      FROM advanced
     WHERE webhook_url IS NOT NULL AND staged_in IS NULL AND archived_at IS NULL
       AND (:ends::bool OR (:stages::text[] IS NOT NULL AND NOT was_in_stage))
    ON CONFLICT DO NOTHING
), new_heng_updates AS (
    INSERT INTO webhook_delivery (id, work_id, account_id, kind, url, format, ordinal)
    SELECT heng_delivery_id(a.id, u.ordinal), a.id, a.account_id, a.kind || '.' || u.told,
           (SELECT h.update_url FROM heng_task h WHERE h.work_id = a.id), 'heng', u.ordinal
      FROM advanced a
      JOIN (VALUES ('QUEUED', 'pending', 2::smallint), ('RUNNING', 'judging', 3)) u (state, told, ordinal)
        ON u.state = a.state
     WHERE a.webhook_format = 'heng'
    ON CONFLICT DO NOTHING
)
SELECT id, attempt, dispatch FROM advanced;

-- name: lock_state^
-- Reads and locks the state of a submission or execution.
SELECT state, attempt FROM work WHERE id = :id FOR UPDATE;
