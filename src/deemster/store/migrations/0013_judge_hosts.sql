-- Judge hosts: machines that judge over HTTP, without credentials of the database or the queue.

-- Keys are derived from the secret of the installation, the id and the generation; they are stored nowhere.
CREATE TABLE judge_host (
    id           text PRIMARY KEY CHECK (id LIKE 'hst\_%'),
    name         text NOT NULL CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$'),
    generation   integer NOT NULL DEFAULT 1 CHECK (generation > 0),
    created_by   text NOT NULL,
    created_at   timestamptz NOT NULL DEFAULT now(),
    paused_at    timestamptz,
    pause_reason text,
    revoked_at   timestamptz
);
CREATE UNIQUE INDEX judge_host_name ON judge_host (name) WHERE revoked_at IS NULL;

-- Nonces of requests, so that none is accepted twice.
CREATE TABLE judge_host_nonce (
    host_id text NOT NULL REFERENCES judge_host ON DELETE CASCADE,
    nonce   text NOT NULL CHECK (nonce ~ '^[0-9a-f]{32}$'),
    used_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (host_id, nonce)
);
CREATE INDEX judge_host_nonce_used ON judge_host_nonce (used_at);

-- A run of a judge host is a worker, so that leases, heartbeats, draining and rescue are the same.
ALTER TABLE worker
    ADD COLUMN judge_host_id   text REFERENCES judge_host,
    ADD COLUMN address         text,
    ADD COLUMN speed           double precision CHECK (speed > 0),
    ADD COLUMN execution_slots integer NOT NULL DEFAULT 0,
    ADD COLUMN data            text[] NOT NULL DEFAULT '{}';

-- One dispatch of a task to a host. The judge id is never used again.
CREATE TABLE remote_task (
    judge_id   text PRIMARY KEY CHECK (judge_id LIKE 'jdg\_%'),
    number     bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    work_id    text NOT NULL REFERENCES work ON DELETE CASCADE,
    attempt    integer NOT NULL,
    task       text NOT NULL,
    purpose    text NOT NULL DEFAULT 'run' CHECK (purpose IN ('run', 'check', 'decide')),
    host_id    text NOT NULL REFERENCES judge_host,
    worker_id  text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    sent_at    timestamptz,
    ended_at   timestamptz,
    verdict    text
);
CREATE INDEX remote_task_work ON remote_task (work_id);
CREATE INDEX remote_task_open ON remote_task (worker_id) WHERE ended_at IS NULL;
CREATE INDEX remote_task_host ON remote_task (host_id, ended_at);

-- The result of a task as its host sent it, until it is settled.
CREATE TABLE host_message (
    judge_id    text PRIMARY KEY REFERENCES remote_task ON DELETE CASCADE,
    body        bytea NOT NULL,
    received_at timestamptz NOT NULL DEFAULT now()
);

-- How many requests and results of hosts were refused, by reason.
CREATE TABLE host_refusal (
    reason  text PRIMARY KEY,
    count   bigint NOT NULL,
    last_at timestamptz NOT NULL DEFAULT now()
);
