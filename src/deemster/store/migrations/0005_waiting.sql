-- What is judged again, on trial or at once, is none of its user's doing: it keeps nobody's next submission back
-- (Q8). Still not by states, for the planner's sake: see 0002.
DROP INDEX submission_waiting_of_account;
CREATE INDEX submission_waiting_of_account ON submission (account_id)
    WHERE attempt = 0 AND finished_at IS NULL AND rejudge_of IS NULL;

-- Failed webhooks are few among all that ended on a day, and are counted each time that metrics are read.
CREATE INDEX webhook_failed ON webhook_delivery (ended_at) WHERE state = 'failed';
