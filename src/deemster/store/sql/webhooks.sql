-- name: claim
-- Claims deliveries that are due, for one keeper until the claim ends: few per host, so that a dead host delays
-- no other, and each account's first before anyone's second, counting those being sent. A callback with an ordinal
-- waits until those before it have ended.
WITH RECURSIVE hosts AS (
    (SELECT host FROM webhook_delivery WHERE state = 'waiting' ORDER BY host LIMIT 1)
    UNION ALL
    SELECT next.host FROM hosts
     CROSS JOIN LATERAL (SELECT d.host FROM webhook_delivery d
                          WHERE d.state = 'waiting' AND d.host > hosts.host ORDER BY d.host LIMIT 1) next
), sending AS (
    SELECT account_id, count(*) AS under_way FROM webhook_delivery
     WHERE claimed_until > now() GROUP BY account_id
), due AS (
    SELECT first.id, first.available_at,
           COALESCE(sending.under_way, 0) + row_number() OVER (PARTITION BY first.account_id
                                                               ORDER BY first.available_at, first.id) AS turn
      FROM hosts
     CROSS JOIN LATERAL (SELECT count(*) AS sending FROM webhook_delivery d
                          WHERE d.host = hosts.host AND d.claimed_until > now()) busy
     CROSS JOIN LATERAL (SELECT d.id, d.account_id, d.available_at FROM webhook_delivery d
                          WHERE d.state = 'waiting' AND d.host = hosts.host AND d.available_at <= now()
                            AND (d.claimed_until IS NULL OR d.claimed_until < now())
                            AND (d.ordinal = 0 OR NOT EXISTS (
                                SELECT FROM webhook_delivery e
                                 WHERE e.work_id = d.work_id AND e.state = 'waiting' AND e.ordinal > 0
                                   AND e.ordinal < d.ordinal))
                          ORDER BY d.available_at, d.id
                          LIMIT GREATEST(0, :per_host::int - busy.sending)) first
      LEFT JOIN sending ON sending.account_id = first.account_id
), picked AS (
    SELECT id FROM due WHERE turn <= :per_account::int ORDER BY turn, available_at, id LIMIT :limit::int
), mine AS (
    SELECT d.id FROM webhook_delivery d JOIN picked USING (id)
     WHERE d.state = 'waiting' AND d.available_at <= now() AND (d.claimed_until IS NULL OR d.claimed_until < now())
       FOR UPDATE OF d SKIP LOCKED
), claimed AS (
    UPDATE webhook_delivery d SET claimed_until = now() + make_interval(secs => :claim_s::float)
      FROM mine WHERE d.id = mine.id
 RETURNING d.id, d.work_id, d.account_id, d.kind, d.url, d.format, d.tries, d.claimed_until
)
SELECT c.id AS delivery_id, c.kind AS event_kind, c.url, c.format, c.tries, c.claimed_until, now() AS claimed_at,
       s.*, x.args, x.io, x.limits, x.options, x.client, x.session_id, x.status, x.exit_code, x.signal, x.cpu_ms,
       x.wall_ms, x.memory_kb AS used_kb, x.stdout_truncated, x.stderr_truncated, x.compile,
       NULL::bytea AS returned_files, a.name AS account_name, COALESCE(k.generation, 1) AS generation,
       COALESCE(k.rotated_at > now() - make_interval(secs => :overlap_s::float), false) AS overlaps,
       h.access_key AS heng_key, h.message_bytes AS heng_message, r.cases AS heng_cases, j.jury AS heng_jury
  FROM claimed c
  JOIN work s ON s.id = c.work_id
  LEFT JOIN execution x ON x.work_id = c.work_id
  JOIN account a ON a.id = c.account_id
  LEFT JOIN webhook_key k ON k.account_id = c.account_id
  LEFT JOIN heng_task h ON c.format = 'heng' AND h.work_id = c.work_id
  LEFT JOIN problem_revision r ON c.format = 'heng' AND r.problem_id = s.problem_id AND r.digest = s.revision
  LEFT JOIN judgement j ON c.format = 'heng' AND j.submission_id = c.work_id;

-- name: record_attempt$
-- Records an attempt while its claim holds; returns no row if the claim had ended. A callback that is not accepted is
-- given up if a later one of the same task waits for it.
WITH outcome AS (
    SELECT d.id, CASE WHEN :state = 'waiting' AND d.ordinal > 0 AND EXISTS (
               SELECT FROM webhook_delivery l WHERE l.work_id = d.work_id AND l.ordinal > d.ordinal)
           THEN 'failed' ELSE :state END AS state
      FROM webhook_delivery d WHERE d.id = :id
), mine AS (
    UPDATE webhook_delivery d
       SET tries = d.tries + 1, claimed_until = NULL, state = outcome.state,
           ended_at = CASE WHEN outcome.state <> 'waiting' THEN now() END,
           available_at = now() + make_interval(secs => :wait_s::float)
      FROM outcome
     WHERE d.id = outcome.id AND d.state = 'waiting' AND d.claimed_until = :claimed_until
 RETURNING d.id, d.tries
)
INSERT INTO webhook_attempt (delivery_id, number, at, status, error, took_ms)
SELECT id, tries, :at, :status, :error, :took_ms FROM mine
RETURNING number;

-- name: page
-- Lists deliveries, newest first, with their attempts (A8).
SELECT d.*, ARRAY(SELECT row(w.number, w.at, w.status, w.error, w.took_ms) FROM webhook_attempt w
                   WHERE w.delivery_id = d.id ORDER BY w.number) AS attempts
  FROM webhook_delivery d
 WHERE (:account::text IS NULL OR d.account_id = :account)
   AND (:work::text IS NULL OR d.work_id = :work)
   AND (:id::text IS NULL OR d.id = :id)
   AND (:state::text IS NULL OR d.state = :state)
   AND (:before::text IS NULL OR d.id < :before)
 ORDER BY d.id DESC
 LIMIT :limit;

-- name: resend!
-- Adds the same delivery again unless an earlier resend still waits. A state of a heng task is not sent again, because
-- its result may have been sent since.
INSERT INTO webhook_delivery (id, work_id, account_id, kind, url, format, resend_of)
SELECT :id, work_id, account_id, kind, url, format, id FROM webhook_delivery
 WHERE id = :resend_of AND state <> 'waiting' AND ordinal IN (0, 4)
ON CONFLICT (resend_of) WHERE resend_of IS NOT NULL AND state = 'waiting' DO NOTHING;

-- name: get_signing_key^
-- Reads which secret of an account signs, and until when the previous one does too.
SELECT COALESCE(max(generation), 1) AS generation, max(rotated_at) AS rotated_at,
       max(rotated_at + make_interval(secs => :overlap_s::float))
           FILTER (WHERE rotated_at > now() - make_interval(secs => :overlap_s::float)) AS previous_until
  FROM webhook_key WHERE account_id = :account;

-- name: rotate_signing_key!
-- Moves to the next secret; the first one has no row.
INSERT INTO webhook_key AS k (account_id, generation) VALUES (:account, 2)
ON CONFLICT (account_id) DO UPDATE SET generation = k.generation + 1, rotated_at = now();

-- name: trim!
-- Deletes deliveries that ended long ago, resends before their originals.
DELETE FROM webhook_delivery WHERE id IN (
    SELECT d.id FROM webhook_delivery d
     WHERE d.ended_at < now() - make_interval(secs => :older_than_s::float)
       AND NOT EXISTS (SELECT FROM webhook_delivery r WHERE r.resend_of = d.id)
     LIMIT :limit);
