-- How many submissions got the verdict Judge Error, by what failed.
CREATE TABLE judge_error_count (
    cause   text PRIMARY KEY,
    count   bigint NOT NULL,
    last_at timestamptz NOT NULL DEFAULT now()
);
