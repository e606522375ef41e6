-- The session in which a user writes the solution of a problem: the editor of the problem's page saves there.
ALTER TABLE code_session ADD COLUMN problem_id text REFERENCES problem;
CREATE UNIQUE INDEX code_session_of_problem ON code_session (account_id, problem_id) WHERE problem_id IS NOT NULL;
