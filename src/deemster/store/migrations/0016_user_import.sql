-- Accounts in bulk: one-time log-in links, and generated passwords.

-- A link logs its owner in once; the row is deleted with its use. Only the hash of the code is stored.
CREATE TABLE log_in_link (
    digest     bytea PRIMARY KEY CHECK (octet_length(digest) = 32),
    account_id text NOT NULL REFERENCES account,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL CHECK (expires_at > created_at)
);
CREATE INDEX log_in_link_of_account ON log_in_link (account_id);
CREATE INDEX log_in_link_over ON log_in_link (expires_at);

-- Generated passwords have 80 random bits, so a fast hash protects them as well as a slow one.
ALTER TABLE account
    DROP CONSTRAINT password_is_hashed,
    ADD CONSTRAINT password_is_hashed
        CHECK (password IS NULL OR password LIKE '$argon2id$%' OR password LIKE '$generated-sha256$%');
