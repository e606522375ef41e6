-- Similarity of submissions (P6). All of it is computed from sources, and goes with its submissions.

-- One row for each submission whose source was read. `compared_at` is NULL until its fingerprints were compared with
-- those of the problem's other submissions, and again when code that is common now may not have been common then.
CREATE TABLE similarity_program (
    submission_id text PRIMARY KEY REFERENCES work ON DELETE CASCADE,
    problem_id    text NOT NULL REFERENCES problem,
    lexer         text NOT NULL,
    algorithm     smallint NOT NULL,
    files         text[] NOT NULL,
    fingerprints  bytea,
    refusal       text CHECK (refusal IN ('too_short', 'failed')),
    reason        text,
    compared_at   timestamptz,
    CHECK ((fingerprints IS NULL) = (refusal IS NOT NULL)),
    CHECK (compared_at IS NULL OR refusal IS NULL)
);
ALTER TABLE similarity_program ALTER COLUMN fingerprints SET STORAGE EXTERNAL;
CREATE INDEX similarity_program_of_problem ON similarity_program (problem_id, lexer, submission_id);
CREATE INDEX similarity_uncompared ON similarity_program (problem_id, lexer, submission_id)
    WHERE compared_at IS NULL AND refusal IS NULL;

-- Shares are in thousandths. The left submission came first.
CREATE TABLE similarity_pair (
    left_id     text NOT NULL REFERENCES similarity_program ON DELETE CASCADE,
    right_id    text NOT NULL REFERENCES similarity_program ON DELETE CASCADE,
    problem_id  text NOT NULL REFERENCES problem,
    left_share  smallint NOT NULL CHECK (left_share BETWEEN 0 AND 1000),
    right_share smallint NOT NULL CHECK (right_share BETWEEN 0 AND 1000),
    similarity  smallint NOT NULL GENERATED ALWAYS AS (GREATEST(left_share, right_share)) STORED,
    symbols     integer NOT NULL CHECK (symbols > 0),
    regions     jsonb NOT NULL,
    PRIMARY KEY (left_id, right_id),
    CHECK (left_id < right_id)
);
CREATE INDEX similarity_pair_of_right ON similarity_pair (right_id);
CREATE INDEX similarity_pair_of_problem ON similarity_pair (problem_id, similarity DESC);

-- A pair as it is shown: the names of the authors are joined when it is read.
CREATE VIEW shown_similarity_pair AS
SELECT p.left_id, p.right_id, p.problem_id, p.left_share, p.right_share, p.similarity, p.symbols, p.regions,
       lp.files AS left_files, l.account_id AS left_account, la.name AS left_name, l.submitted_at AS left_at,
       l.language AS left_language, l.verdict AS left_verdict,
       rp.files AS right_files, r.account_id AS right_account, ra.name AS right_name, r.submitted_at AS right_at,
       r.language AS right_language, r.verdict AS right_verdict
  FROM similarity_pair p
  JOIN similarity_program lp ON lp.submission_id = p.left_id
  JOIN similarity_program rp ON rp.submission_id = p.right_id
  JOIN work l ON l.id = p.left_id JOIN account la ON la.id = l.account_id
  JOIN work r ON r.id = p.right_id JOIN account ra ON ra.id = r.account_id;

-- How many authors a problem had when its submissions were last compared with the same idea of what is common.
CREATE TABLE similarity_authors (
    problem_id text NOT NULL REFERENCES problem,
    lexer      text NOT NULL,
    authors    integer NOT NULL CHECK (authors > 0),
    PRIMARY KEY (problem_id, lexer)
);

-- Submissions that ended before this time were read with this algorithm, but for a few that were committed late.
CREATE TABLE similarity_cursor (
    algorithm   smallint PRIMARY KEY,
    finished_at timestamptz NOT NULL
);
CREATE INDEX submission_finished ON work (finished_at)
    WHERE kind = 'submission' AND state = 'COMPLETED' AND rejudge_of IS NULL;
