-- Evaluation by a rubric: versions of rubrics, tiers of models, budgets, calls and results.

-- A version never changes. Without a problem it is the general rubric. The newest version that is not retired is used.
CREATE TABLE rubric (
    id         text PRIMARY KEY CHECK (id LIKE 'rub\_%'),
    problem_id text REFERENCES problem,
    number     integer NOT NULL CHECK (number > 0),
    digest     text NOT NULL CHECK (digest ~ '^[0-9a-f]{64}$'),
    title      text NOT NULL,
    yaml       text NOT NULL,
    created_by text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    retired_at timestamptz
);
CREATE UNIQUE INDEX rubric_number ON rubric (COALESCE(problem_id, ''), number);

CREATE FUNCTION refuse_rubric_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.id, NEW.problem_id, NEW.number, NEW.digest, NEW.yaml)
       IS DISTINCT FROM (OLD.id, OLD.problem_id, OLD.number, OLD.digest, OLD.yaml) THEN
        RAISE EXCEPTION 'The rubric % can not change.', OLD.id USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER rubric_never_changes BEFORE UPDATE ON rubric FOR EACH ROW EXECUTE FUNCTION refuse_rubric_change();

-- API keys are not here: `key_name` names one in the settings.
CREATE TABLE model_tier (
    name              text PRIMARY KEY CHECK (name ~ '^[a-z0-9][a-z0-9._-]{0,39}$'),
    base_url          text NOT NULL,
    model             text NOT NULL,
    input_price       numeric(14, 6) NOT NULL CHECK (input_price >= 0),
    output_price      numeric(14, 6) NOT NULL CHECK (output_price >= 0),
    key_name          text,
    timeout_s         double precision NOT NULL CHECK (timeout_s > 0),
    max_output_tokens integer NOT NULL CHECK (max_output_tokens > 0),
    max_source_bytes  integer NOT NULL CHECK (max_source_bytes > 0),
    answers           integer NOT NULL CHECK (answers BETWEEN 1 AND 3),
    token_limit       text NOT NULL
);

-- One row, which a reservation locks, so that concurrent reservations see each other's sums. Amounts in millionths.
CREATE TABLE evaluation_budget (
    only_row   boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    submission bigint NOT NULL CHECK (submission >= 0),
    user_day   bigint NOT NULL CHECK (user_day >= 0),
    day        bigint NOT NULL CHECK (day >= 0)
);
INSERT INTO evaluation_budget (submission, user_day, day) VALUES (250000, 2000000, 20000000);

-- A call is written before it is sent, with the most that it can cost, and settled after it.
CREATE TABLE model_call (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    submission_id   text NOT NULL REFERENCES work ON DELETE CASCADE,
    rubric_id       text NOT NULL REFERENCES rubric,
    variant         text NOT NULL CHECK (variant IN ('plain', 'neutral')),
    tier            text NOT NULL,
    number          integer NOT NULL CHECK (number > 0),
    account_id      text NOT NULL REFERENCES account,
    day             date NOT NULL DEFAULT (now() AT TIME ZONE 'UTC')::date,
    state           text NOT NULL DEFAULT 'reserved' CHECK (state IN ('reserved', 'answered', 'failed')),
    tries           integer NOT NULL DEFAULT 1 CHECK (tries > 0),
    claimed_until   timestamptz,
    reserved_micros bigint NOT NULL CHECK (reserved_micros >= 0),
    charged_micros  bigint NOT NULL CHECK (charged_micros >= 0),
    input_tokens    integer NOT NULL DEFAULT 0,
    output_tokens   integer NOT NULL DEFAULT 0,
    latency_ms      integer NOT NULL DEFAULT 0,
    error           text,
    content         text,
    settled_at      timestamptz,
    UNIQUE (submission_id, rubric_id, variant, tier, number),
    CHECK ((state = 'reserved') = (settled_at IS NULL)),
    CHECK ((state = 'reserved') = (claimed_until IS NOT NULL)),
    CHECK (state = 'reserved' OR reserved_micros = 0),
    CHECK ((state = 'answered') = (content IS NOT NULL)),
    CHECK ((state = 'failed') <= (error IS NOT NULL))
);
CREATE INDEX model_call_of_day ON model_call (day, tier);

-- What all calls of an account on a day cost, reserved amounts included; always the sum of their rows.
CREATE TABLE model_spend (
    day        date NOT NULL,
    account_id text NOT NULL REFERENCES account,
    micros     bigint NOT NULL CHECK (micros >= 0),
    PRIMARY KEY (day, account_id)
);

CREATE TABLE evaluation (
    submission_id text PRIMARY KEY REFERENCES work ON DELETE CASCADE,
    rubric_id     text NOT NULL REFERENCES rubric,
    method        text NOT NULL CHECK (method IN ('model', 'deterministic')),
    score         double precision CHECK (score BETWEEN 0 AND 100),
    flag          text,
    without_model text,
    tier          text,
    locale        text NOT NULL,
    details       jsonb NOT NULL,
    calls         integer NOT NULL,
    input_tokens  integer NOT NULL,
    output_tokens integer NOT NULL,
    cost_micros   bigint NOT NULL,
    latency_ms    integer NOT NULL,
    evaluated_at  timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT flagged_has_no_score CHECK (flag IS NULL OR score IS NULL),
    CONSTRAINT deterministic_has_reason CHECK ((method = 'deterministic') = (without_model IS NOT NULL))
);
CREATE INDEX evaluation_flagged ON evaluation (submission_id) WHERE flag IS NOT NULL;

CREATE TABLE evaluation_correction (
    submission_id text NOT NULL REFERENCES evaluation ON DELETE CASCADE,
    number        integer NOT NULL CHECK (number > 0),
    old_score     double precision,
    new_score     double precision NOT NULL CHECK (new_score BETWEEN 0 AND 100),
    reason        text NOT NULL,
    account_id    text NOT NULL REFERENCES account,
    at            timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (submission_id, number)
);
