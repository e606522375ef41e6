-- The front door: who people are, how much they may, and how they hear of it.

ALTER TABLE account
    ADD COLUMN password        text,
    ADD COLUMN password_set_at timestamptz,
    ADD COLUMN tier            integer NOT NULL DEFAULT 0 CHECK (tier IN (0, 1)),
    ADD COLUMN daily_quota     integer CHECK (daily_quota >= 0),
    ADD CONSTRAINT password_has_time CHECK ((password IS NULL) = (password_set_at IS NULL)),
    ADD CONSTRAINT password_is_hashed CHECK (password IS NULL OR password LIKE '$argon2id$%');

ALTER TABLE token
    ADD COLUMN scopes text[] NOT NULL DEFAULT '{read,submit,account,problems,admin,metrics}'
        CHECK (scopes <@ '{read,submit,account,problems,admin,metrics}' AND cardinality(scopes) > 0);

-- People who logged in by a password or by another issuer's word; only the cookie's hash is kept.
CREATE TABLE session (
    digest     bytea PRIMARY KEY CHECK (octet_length(digest) = 32),
    account_id text NOT NULL REFERENCES account,
    created_at timestamptz NOT NULL DEFAULT now(),
    seen_at    timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL CHECK (expires_at > created_at)
);
CREATE INDEX session_of_account ON session (account_id);
CREATE INDEX session_over ON session (expires_at);

-- Who someone is elsewhere: the subject of an issuer of JWTs.
CREATE TABLE identity (
    issuer     text NOT NULL,
    subject    text NOT NULL,
    account_id text NOT NULL REFERENCES account,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (issuer, subject)
);
CREATE INDEX identity_of_account ON identity (account_id);

-- What admins and authors did. Rows are never changed.
CREATE TABLE audit (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at         timestamptz NOT NULL DEFAULT now(),
    account_id text REFERENCES account,
    actor      text NOT NULL,
    act        text NOT NULL,
    target     text,
    details    jsonb NOT NULL DEFAULT '{}',
    request_id text
);
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'What was done can not be changed.' USING ERRCODE = 'check_violation';
END $$;
CREATE TRIGGER audit_stays BEFORE UPDATE OR DELETE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- Single facts of this installation: the fingerprint of its secret, revisions of what is cached.
CREATE TABLE fact (
    name  text PRIMARY KEY,
    value text NOT NULL
);

ALTER TABLE problem ADD COLUMN owner_id text REFERENCES account;

CREATE TABLE contest (
    id        text PRIMARY KEY CHECK (id LIKE 'con\_%'),
    title     text NOT NULL,
    opens_at  timestamptz NOT NULL,
    closes_at timestamptz NOT NULL CHECK (closes_at > opens_at),
    problems  text[] NOT NULL,
    made_by   text REFERENCES account,
    made_at   timestamptz NOT NULL DEFAULT now()
);

-- Judged again on trial: nobody but admins sees them until the set is applied.
CREATE TABLE rejudging (
    id          text PRIMARY KEY CHECK (id LIKE 'rej\_%'),
    wanted      jsonb NOT NULL,
    matched     integer NOT NULL CHECK (matched > 0),
    reason      text,
    made_by     text REFERENCES account,
    made_at     timestamptz NOT NULL DEFAULT now(),
    key         text CHECK (length(key) BETWEEN 1 AND 255),
    staged_at   timestamptz,
    outcome     text CHECK (outcome IN ('applied', 'dropped')),
    settled_at  timestamptz,
    settled_by  text REFERENCES account,
    CHECK ((outcome IS NULL) = (settled_at IS NULL)),
    CHECK (outcome IS DISTINCT FROM 'applied' OR staged_at IS NOT NULL)
);
CREATE UNIQUE INDEX rejudging_key ON rejudging (made_by, key) WHERE key IS NOT NULL;
CREATE INDEX rejudging_unstaged ON rejudging (id) WHERE staged_at IS NULL AND outcome IS NULL;

ALTER TABLE submission
    ADD COLUMN contest_id text REFERENCES contest,
    ADD COLUMN staged_in  text REFERENCES rejudging,
    ADD COLUMN applied_in text REFERENCES rejudging,
    ADD CONSTRAINT staged_is_rejudge CHECK (COALESCE(staged_in, applied_in) IS NULL OR rejudge_of IS NOT NULL),
    ADD CONSTRAINT staged_or_applied CHECK (staged_in IS NULL OR applied_in IS NULL);
DROP INDEX submission_one_rejudge;
CREATE UNIQUE INDEX submission_one_rejudge ON submission (rejudge_of)
    WHERE rejudge_of IS NOT NULL AND staged_in IS NULL;
CREATE UNIQUE INDEX submission_once_staged ON submission (staged_in, rejudge_of) WHERE staged_in IS NOT NULL;
CREATE INDEX submission_applied ON submission (applied_in, rejudge_of) WHERE applied_in IS NOT NULL;
-- Trials are none of their user's doing: they keep nobody's next submission back (Q8). Not by states, or the
-- planner takes submission_line for it when the line was empty at its last look, and reads all of it each time.
DROP INDEX submission_waiting_of_account;
CREATE INDEX submission_waiting_of_account ON submission (account_id)
    WHERE attempt = 0 AND finished_at IS NULL AND staged_in IS NULL;
CREATE INDEX submission_of_contest ON submission (contest_id, id DESC) WHERE contest_id IS NOT NULL;

-- How much one may: when the last one of a user for a problem came, and how many of a user on a day.
CREATE TABLE pace (
    account_id text NOT NULL REFERENCES account,
    problem_id text NOT NULL REFERENCES problem,
    last_at    timestamptz NOT NULL,
    PRIMARY KEY (account_id, problem_id)
) WITH (fillfactor = 70);
-- `before` and `quota` are those of the statement that counted last: it sees by them how many it may let in.
CREATE TABLE day_count (
    account_id text NOT NULL REFERENCES account,
    day        date NOT NULL,
    submits    integer NOT NULL CHECK (submits >= 0),
    before     integer NOT NULL CHECK (before BETWEEN 0 AND submits),
    quota      integer NOT NULL,
    PRIMARY KEY (account_id, day)
) WITH (fillfactor = 70);
CREATE INDEX day_count_over ON day_count (day);

-- Ids of events are given before their transaction ends, so a later one may be seen first. Who reads
-- only what is older than every transaction that still runs, in this order, misses none.
ALTER TABLE submission_event ADD COLUMN xact xid8 NOT NULL DEFAULT pg_current_xact_id();
CREATE INDEX event_order ON submission_event (xact, id);
-- An event as it is told: joined when it is read, so that its row stays small. Figures go with the last one.
CREATE VIEW told_event AS
SELECT e.id, e.xact, e.submission_id, e.event, e.state, e.attempt, e.reason, e.at,
       s.account_id, s.problem_id, s.contest_id, s.language, s.staged_in IS NOT NULL AS staged,
       CASE WHEN e.state = 'COMPLETED' THEN s.verdict END AS verdict,
       CASE WHEN e.state = 'COMPLETED' THEN s.runtime_ms END AS runtime_ms,
       CASE WHEN e.state = 'COMPLETED' THEN s.memory_kb END AS memory_kb,
       CASE WHEN e.state = 'COMPLETED' THEN s.passed_cases END AS passed_cases,
       CASE WHEN e.state = 'COMPLETED' THEN s.total_cases END AS total_cases,
       CASE WHEN e.state = 'COMPLETED' THEN s.score END AS score,
       CASE WHEN e.state = 'COMPLETED' THEN s.max_score END AS max_score
  FROM submission_event e JOIN submission s ON s.id = e.submission_id;

-- Webhooks: written by the step that ends a submission, carried by the keeper (H2, I3).
CREATE TABLE webhook_delivery (
    id            text PRIMARY KEY CHECK (id LIKE 'whd\_%'),
    submission_id text NOT NULL REFERENCES submission,
    account_id    text NOT NULL REFERENCES account,
    kind          text NOT NULL,
    url           text NOT NULL,
    host          text NOT NULL GENERATED ALWAYS AS
                  (COALESCE(lower(substring(url FROM '^[a-zA-Z]+://([^/?#]*)')), '')) STORED,
    resend_of     text REFERENCES webhook_delivery,
    state         text NOT NULL DEFAULT 'waiting' CHECK (state IN ('waiting', 'delivered', 'failed')),
    tries         integer NOT NULL DEFAULT 0 CHECK (tries >= 0),
    available_at  timestamptz NOT NULL DEFAULT now(),
    claimed_until timestamptz,
    created_at    timestamptz NOT NULL DEFAULT now(),
    ended_at      timestamptz,
    CHECK ((state = 'waiting') = (ended_at IS NULL)),
    CHECK (claimed_until IS NULL OR state = 'waiting')
);
CREATE UNIQUE INDEX webhook_once ON webhook_delivery (submission_id, kind) WHERE resend_of IS NULL;
CREATE INDEX webhook_waiting ON webhook_delivery (host, available_at, id) WHERE state = 'waiting';
CREATE INDEX webhook_claimed ON webhook_delivery (host) WHERE claimed_until IS NOT NULL;
CREATE UNIQUE INDEX webhook_one_resend ON webhook_delivery (resend_of)
    WHERE resend_of IS NOT NULL AND state = 'waiting';
CREATE INDEX webhook_resends ON webhook_delivery (resend_of) WHERE resend_of IS NOT NULL;
CREATE INDEX webhook_over ON webhook_delivery (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX webhook_of_submission ON webhook_delivery (submission_id, id);
CREATE INDEX webhook_of_account ON webhook_delivery (account_id, id DESC);

CREATE TABLE webhook_attempt (
    delivery_id text NOT NULL REFERENCES webhook_delivery ON DELETE CASCADE,
    number      integer NOT NULL CHECK (number > 0),
    at          timestamptz NOT NULL DEFAULT now(),
    status      integer,
    error       text,
    took_ms     integer NOT NULL CHECK (took_ms >= 0),
    PRIMARY KEY (delivery_id, number),
    CHECK (status IS NOT NULL OR error IS NOT NULL)
);

-- Secrets are made from the installation's own and these numbers; none is kept.
CREATE TABLE webhook_key (
    account_id text PRIMARY KEY REFERENCES account,
    generation integer NOT NULL DEFAULT 1 CHECK (generation > 0),
    rotated_at timestamptz NOT NULL DEFAULT now()
);

-- What a POST with an Idempotency-Key made, and was answered; answers are sealed, as they may hold a token.
CREATE TABLE once (
    account_id     text NOT NULL REFERENCES account,
    key            text NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
    request_digest bytea NOT NULL CHECK (octet_length(request_digest) = 32),
    status         integer,
    location       text,
    sealed         bytea,
    at             timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (account_id, key)
);
