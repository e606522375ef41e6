-- Executions take the same way as submissions: one table of work has the state, attempt and priority of both.
-- Columns are added to the view only by a migration that replaces it: it lists them.
DROP VIEW told_event;
ALTER TABLE submission RENAME TO work;
ALTER TABLE submission_event RENAME TO work_event;
ALTER TABLE work_event RENAME COLUMN submission_id TO work_id;
ALTER TABLE lease RENAME COLUMN submission_id TO work_id;
ALTER TABLE outbox RENAME COLUMN submission_id TO work_id;
ALTER TABLE dead_letter RENAME COLUMN submission_id TO work_id;
ALTER TABLE webhook_delivery RENAME COLUMN submission_id TO work_id;

ALTER TABLE work
    ADD COLUMN kind text NOT NULL DEFAULT 'submission' CHECK (kind IN ('submission', 'execution')),
    ALTER COLUMN problem_id DROP NOT NULL,
    ALTER COLUMN revision DROP NOT NULL,
    ALTER COLUMN source DROP NOT NULL,
    DROP CONSTRAINT submission_id_check,
    ADD CONSTRAINT work_id_names_kind CHECK (id LIKE CASE kind WHEN 'submission' THEN 'sub\_%' ELSE 'exe\_%' END),
    ADD CONSTRAINT submission_has_problem CHECK
        ((kind = 'submission') = (problem_id IS NOT NULL AND revision IS NOT NULL AND source IS NOT NULL)),
    DROP CONSTRAINT completed_has_verdict,
    ADD CONSTRAINT completed_has_verdict CHECK (state <> 'COMPLETED' OR verdict IS NOT NULL OR kind = 'execution'),
    ADD CONSTRAINT verdict_of_submission CHECK (verdict IS NULL OR kind = 'submission');

-- Executions are deleted after a time, with all that refers to them. Submissions never are.
ALTER TABLE work_event DROP CONSTRAINT submission_event_submission_id_fkey,
    ADD FOREIGN KEY (work_id) REFERENCES work ON DELETE CASCADE;
ALTER TABLE lease DROP CONSTRAINT lease_submission_id_fkey,
    ADD FOREIGN KEY (work_id) REFERENCES work ON DELETE CASCADE;
ALTER TABLE outbox DROP CONSTRAINT outbox_submission_id_fkey,
    ADD FOREIGN KEY (work_id) REFERENCES work ON DELETE CASCADE;
ALTER TABLE dead_letter DROP CONSTRAINT dead_letter_submission_id_fkey,
    ADD FOREIGN KEY (work_id) REFERENCES work ON DELETE CASCADE;
ALTER TABLE webhook_delivery DROP CONSTRAINT webhook_delivery_submission_id_fkey,
    ADD FOREIGN KEY (work_id) REFERENCES work ON DELETE CASCADE;

CREATE VIEW submission AS
SELECT id, account_id, problem_id, revision, language, main, source, state, attempt, dispatch, priority,
       idempotency_key, request_digest, webhook_url, rejudge_of, archived_at, verdict, runtime_ms, memory_kb,
       passed_cases, total_cases, score, max_score, failure, submitted_at, changed_at, started_at, finished_at,
       contest_id, staged_in, applied_in
  FROM work WHERE kind = 'submission';

-- An event as it is told: joined when it is read, so that its row stays small. Figures go with the last one.
CREATE VIEW told_event AS
SELECT e.id, e.xact, e.work_id, e.event, e.state, e.attempt, e.reason, e.at,
       s.account_id, s.problem_id, s.contest_id, s.language, s.staged_in IS NOT NULL AS staged,
       CASE WHEN e.state = 'COMPLETED' THEN s.verdict END AS verdict,
       CASE WHEN e.state = 'COMPLETED' THEN s.runtime_ms END AS runtime_ms,
       CASE WHEN e.state = 'COMPLETED' THEN s.memory_kb END AS memory_kb,
       CASE WHEN e.state = 'COMPLETED' THEN s.passed_cases END AS passed_cases,
       CASE WHEN e.state = 'COMPLETED' THEN s.total_cases END AS total_cases,
       CASE WHEN e.state = 'COMPLETED' THEN s.score END AS score,
       CASE WHEN e.state = 'COMPLETED' THEN s.max_score END AS max_score
  FROM work_event e JOIN work s ON s.id = e.work_id;

CREATE INDEX execution_of_account ON work (account_id, id DESC) WHERE kind = 'execution';
CREATE INDEX execution_ended ON work (finished_at) WHERE kind = 'execution' AND finished_at IS NOT NULL;

-- A document of live coding. It has its newest source itself, so that one guarded update of its row saves it.
CREATE TABLE code_session (
    id         text PRIMARY KEY CHECK (id LIKE 'ses\_%'),
    account_id text NOT NULL REFERENCES account,
    language   text NOT NULL,
    source     text NOT NULL,
    version    integer NOT NULL CHECK (version > 0),
    created_at timestamptz NOT NULL DEFAULT now(),
    changed_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX code_session_of_account ON code_session (account_id, id DESC);

CREATE TABLE code_version (
    session_id text NOT NULL REFERENCES code_session ON DELETE CASCADE,
    number     integer NOT NULL CHECK (number > 0),
    language   text NOT NULL,
    source     text NOT NULL,
    size_bytes integer NOT NULL CHECK (size_bytes >= 0),
    restored   integer,
    saved_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (session_id, number)
);

-- What an execution runs, and what came of it. It has no artifacts, so that deleting its rows deletes everything.
CREATE TABLE execution (
    work_id          text PRIMARY KEY REFERENCES work ON DELETE CASCADE,
    session_id       text REFERENCES code_session,
    files            bytea NOT NULL,
    stdin            bytea NOT NULL DEFAULT '',
    args             text[] NOT NULL DEFAULT '{}',
    io               text NOT NULL DEFAULT 'batch' CHECK (io IN ('batch', 'streams', 'terminal')),
    limits           jsonb NOT NULL,
    options          jsonb NOT NULL DEFAULT '{}',
    client           jsonb,
    status           text,
    exit_code        integer,
    signal           integer,
    cpu_ms           double precision,
    wall_ms          double precision,
    memory_kb        bigint,
    stdout_truncated boolean NOT NULL DEFAULT false,
    stderr_truncated boolean NOT NULL DEFAULT false,
    compile          jsonb,
    returned_files   bytea
);
ALTER TABLE execution ALTER COLUMN files SET STORAGE EXTERNAL;
CREATE INDEX execution_of_session ON execution (session_id, work_id DESC) WHERE session_id IS NOT NULL;

-- Output in the order in which it was read. `stream` is 1 for stdout and 2 for stderr; a terminal has only 1.
CREATE TABLE execution_output (
    work_id text NOT NULL REFERENCES work ON DELETE CASCADE,
    attempt integer NOT NULL,
    number  integer NOT NULL CHECK (number > 0),
    stream  smallint NOT NULL CHECK (stream IN (1, 2)),
    at_ms   integer NOT NULL CHECK (at_ms >= 0),
    content bytea NOT NULL,
    PRIMARY KEY (work_id, attempt, number)
);

-- What a person typed, or did to the terminal, in order.
CREATE TABLE execution_input (
    id      bigint GENERATED ALWAYS AS IDENTITY,
    work_id text NOT NULL REFERENCES work ON DELETE CASCADE,
    kind    text NOT NULL CHECK (kind IN ('data', 'end', 'resize', 'signal')),
    content bytea NOT NULL,
    PRIMARY KEY (work_id, id)
);

-- Files that clients store before they run programs with them. They are deleted some time after their last use.
CREATE TABLE client_file (
    account_id text NOT NULL REFERENCES account,
    name       text NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
    content    bytea NOT NULL,
    size       integer GENERATED ALWAYS AS (octet_length(content)) STORED,
    used_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account_id, name)
);
ALTER TABLE client_file ALTER COLUMN content SET STORAGE EXTERNAL;
CREATE INDEX client_file_used ON client_file (used_at);
