-- Accounts, problems, submissions and the road they take.
-- Wrong states are refused here, whatever the code above does.

CREATE TABLE account (
    id          text PRIMARY KEY CHECK (id LIKE 'usr\_%'),
    name        text NOT NULL UNIQUE CHECK (name ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'),
    role        text NOT NULL CHECK (role IN ('user', 'author', 'admin')),
    created_at  timestamptz NOT NULL DEFAULT now(),
    disabled_at timestamptz
);

CREATE TABLE token (
    id           text PRIMARY KEY CHECK (id LIKE 'tok\_%'),
    account_id   text NOT NULL REFERENCES account,
    name         text NOT NULL,
    digest       bytea NOT NULL UNIQUE CHECK (octet_length(digest) = 32),
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz,
    revoked_at   timestamptz,
    last_used_at timestamptz
);
CREATE INDEX token_of_account ON token (account_id);

-- Test data never changes under a digest (J9); a problem points at the one in force.
CREATE TABLE problem (
    id         text PRIMARY KEY CHECK (id LIKE 'prob\_%'),
    revision   text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    retired_at timestamptz
);

CREATE TABLE problem_revision (
    problem_id   text NOT NULL REFERENCES problem,
    digest       text NOT NULL CHECK (digest ~ '^[0-9a-f]{64}$'),
    number       integer NOT NULL CHECK (number > 0),
    title        text NOT NULL,
    time_ms      integer NOT NULL CHECK (time_ms > 0),
    memory_bytes bigint NOT NULL CHECK (memory_bytes > 0),
    source_bytes bigint NOT NULL CHECK (source_bytes > 0),
    cases        integer NOT NULL CHECK (cases >= 0),
    languages    text[],
    details      jsonb NOT NULL,
    imported_at  timestamptz NOT NULL DEFAULT now(),
    imported_by  text REFERENCES account,
    PRIMARY KEY (problem_id, digest),
    UNIQUE (problem_id, number)
);
ALTER TABLE problem ADD FOREIGN KEY (id, revision)
    REFERENCES problem_revision (problem_id, digest) DEFERRABLE INITIALLY DEFERRED;

-- Small artifacts, apart from the rows that are read all the time (J11).
CREATE TABLE artifact (
    digest  text PRIMARY KEY CHECK (digest ~ '^[0-9a-f]{64}$'),
    content bytea NOT NULL
);
ALTER TABLE artifact ALTER COLUMN content SET STORAGE EXTERNAL;

CREATE TABLE submission (
    id              text PRIMARY KEY CHECK (id LIKE 'sub\_%'),
    account_id      text NOT NULL REFERENCES account,
    problem_id      text NOT NULL,
    revision        text NOT NULL,
    language        text NOT NULL,
    main            text,
    source          text NOT NULL,
    state           text NOT NULL DEFAULT 'PENDING' CHECK (state IN
        ('PENDING', 'QUEUED', 'RUNNING', 'ANALYZING', 'AI_EVALUATING', 'COMPLETED', 'FAILED', 'CANCELLED')),
    attempt         integer NOT NULL DEFAULT 0 CHECK (attempt >= 0),
    dispatch        integer NOT NULL DEFAULT 1 CHECK (dispatch > 0),
    priority        integer NOT NULL CHECK (priority BETWEEN 1 AND 2097152),
    idempotency_key text CHECK (length(idempotency_key) BETWEEN 1 AND 255),
    request_digest  bytea NOT NULL CHECK (octet_length(request_digest) = 32),
    webhook_url     text,
    rejudge_of      text REFERENCES submission,
    archived_at     timestamptz,
    verdict         text CHECK (verdict IN ('Accepted', 'Partial', 'Wrong Answer', 'Time Limit Exceeded',
        'Memory Limit Exceeded', 'Output Limit Exceeded', 'Runtime Error', 'Compile Error', 'Judge Error')),
    runtime_ms      integer CHECK (runtime_ms >= 0),
    memory_kb       bigint CHECK (memory_kb >= 0),
    passed_cases    integer CHECK (passed_cases BETWEEN 0 AND total_cases),
    total_cases     integer CHECK (total_cases >= 0),
    score           double precision,
    max_score       double precision,
    failure         text,
    submitted_at    timestamptz NOT NULL DEFAULT now(),
    changed_at      timestamptz NOT NULL DEFAULT now(),
    started_at      timestamptz,
    finished_at     timestamptz,

    FOREIGN KEY (problem_id, revision) REFERENCES problem_revision (problem_id, digest),
    CONSTRAINT terminal_has_time
        CHECK ((state IN ('COMPLETED', 'FAILED', 'CANCELLED')) = (finished_at IS NOT NULL)),
    CONSTRAINT completed_has_verdict CHECK (state <> 'COMPLETED' OR verdict IS NOT NULL),
    CONSTRAINT verdict_has_figures CHECK (verdict IS NULL OR
        (runtime_ms IS NOT NULL AND memory_kb IS NOT NULL AND passed_cases IS NOT NULL AND total_cases IS NOT NULL)),
    CONSTRAINT verdict_after_run CHECK (verdict IS NULL OR
        state IN ('RUNNING', 'ANALYZING', 'AI_EVALUATING', 'COMPLETED')),
    CONSTRAINT failed_has_reason CHECK ((state = 'FAILED') <= (failure IS NOT NULL)),
    CONSTRAINT run_has_attempt CHECK (attempt > 0 OR state IN ('PENDING', 'QUEUED', 'CANCELLED')),
    CONSTRAINT run_has_start CHECK ((attempt > 0) = (started_at IS NOT NULL))
);
CREATE UNIQUE INDEX submission_idempotency ON submission (account_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL;
CREATE UNIQUE INDEX submission_one_rejudge ON submission (rejudge_of) WHERE rejudge_of IS NOT NULL;
CREATE INDEX submission_line ON submission (priority, id) WHERE state IN ('PENDING', 'QUEUED');
CREATE INDEX submission_waiting_of_account ON submission (account_id) WHERE state IN ('PENDING', 'QUEUED');
CREATE INDEX submission_active ON submission (state, language) WHERE state = 'RUNNING';
CREATE INDEX submission_of_account ON submission (account_id, id DESC);
CREATE INDEX submission_of_problem ON submission (problem_id, id DESC);
-- Guarded steps rewrite rows often: room on each page keeps them from moving.
ALTER TABLE submission SET (fillfactor = 80);

CREATE FUNCTION refuse_rewind() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.attempt < OLD.attempt THEN
        RAISE EXCEPTION 'The attempt of % can not go down.', OLD.id USING ERRCODE = 'check_violation';
    END IF;
    IF OLD.finished_at IS NOT NULL AND
       (NEW.state, NEW.verdict, NEW.finished_at) IS DISTINCT FROM (OLD.state, OLD.verdict, OLD.finished_at) THEN
        RAISE EXCEPTION 'The end of % can not change.', OLD.id USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER submission_goes_forward BEFORE UPDATE ON submission
    FOR EACH ROW EXECUTE FUNCTION refuse_rewind();

CREATE TABLE submission_event (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    submission_id text NOT NULL REFERENCES submission,
    event         text NOT NULL,
    state         text NOT NULL,
    attempt       integer NOT NULL,
    reason        text,
    at            timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX event_of_submission ON submission_event (submission_id, id);
CREATE UNIQUE INDEX event_one_end ON submission_event (submission_id)
    WHERE event IN ('complete', 'fail', 'cancel');

-- What a contestant may see, and the artifact that holds what the jury knows.
CREATE TABLE judgement (
    submission_id text PRIMARY KEY REFERENCES submission,
    attempt       integer NOT NULL,
    contestant    jsonb NOT NULL,
    jury          text NOT NULL
);

-- Who runs it now. Beats are written here, so that the submission's row stays calm.
CREATE TABLE lease (
    submission_id text PRIMARY KEY REFERENCES submission,
    attempt       integer NOT NULL,
    worker_id     text NOT NULL,
    lease_s       double precision NOT NULL CHECK (lease_s > 0),
    beat_at       timestamptz NOT NULL DEFAULT now(),
    cases_done    integer NOT NULL DEFAULT 0,
    cases_total   integer NOT NULL DEFAULT 0
) WITH (fillfactor = 50);

CREATE TABLE outbox (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    submission_id text NOT NULL REFERENCES submission,
    task          text NOT NULL,
    dispatch      integer NOT NULL CHECK (dispatch > 0),
    attempt       integer NOT NULL,
    available_at  timestamptz NOT NULL DEFAULT now(),
    claimed_until timestamptz,
    tries         integer NOT NULL DEFAULT 0,
    sent_at       timestamptz,
    error         text,
    UNIQUE (submission_id, task, dispatch)
);
CREATE INDEX outbox_unsent ON outbox (available_at, id) WHERE sent_at IS NULL;
CREATE INDEX outbox_sent ON outbox (sent_at) WHERE sent_at IS NOT NULL;

-- Counted once per submission, in the transaction that ends it (I3).
CREATE TABLE account_tally (
    account_id text NOT NULL REFERENCES account,
    problem_id text NOT NULL REFERENCES problem,
    submits    integer NOT NULL CHECK (submits >= 0),
    accepted   integer NOT NULL CHECK (accepted BETWEEN 0 AND submits),
    PRIMARY KEY (account_id, problem_id)
);
CREATE TABLE problem_tally (
    problem_id text PRIMARY KEY REFERENCES problem,
    submits    integer NOT NULL CHECK (submits >= 0),
    accepted   integer NOT NULL CHECK (accepted BETWEEN 0 AND submits)
) WITH (fillfactor = 50);

CREATE TABLE dead_letter (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    submission_id text NOT NULL REFERENCES submission,
    task          text NOT NULL,
    attempt       integer NOT NULL,
    error         text NOT NULL,
    context       jsonb NOT NULL DEFAULT '{}',
    died_at       timestamptz NOT NULL DEFAULT now(),
    outcome       text CHECK (outcome IN ('requeued', 'discarded')),
    settled_at    timestamptz,
    settled_by    text,
    requeued_as   text REFERENCES submission,
    CHECK ((outcome IS NULL) = (settled_at IS NULL)),
    CHECK ((outcome IS NOT DISTINCT FROM 'requeued') = (requeued_as IS NOT NULL)),
    UNIQUE (submission_id, task, attempt)
);
CREATE INDEX dead_letter_open ON dead_letter (id) WHERE outcome IS NULL;

CREATE TABLE worker (
    id          text PRIMARY KEY CHECK (id LIKE 'wrk\_%'),
    host        text NOT NULL,
    process     text NOT NULL,
    slots       integer NOT NULL CHECK (slots > 0),
    languages   text[] NOT NULL,
    busy        integer NOT NULL DEFAULT 0,
    cycle_s     double precision,
    started_at  timestamptz NOT NULL DEFAULT now(),
    seen_at     timestamptz NOT NULL DEFAULT now(),
    draining_at timestamptz,
    gone_at     timestamptz
);
CREATE INDEX worker_present ON worker (seen_at) WHERE gone_at IS NULL;
