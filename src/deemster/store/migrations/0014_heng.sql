-- Tasks of heng clients: their keys, the nonces of their requests, their callbacks and their unlisted problems (M6).

-- The secret key is derived from the access key and the secret of the installation; it is stored nowhere.
CREATE TABLE heng_access_key (
    id         text PRIMARY KEY CHECK (id LIKE 'hak\_%'),
    account_id text NOT NULL REFERENCES account,
    name       text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    revoked_at timestamptz
);
CREATE INDEX heng_access_key_of_account ON heng_access_key (account_id, id DESC);

CREATE TABLE heng_nonce (
    access_key text NOT NULL REFERENCES heng_access_key,
    nonce      text NOT NULL,
    used_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (access_key, nonce)
);
CREATE INDEX heng_nonce_used ON heng_nonce (used_at);

-- What the callbacks of a submission need if it is a task of a heng client. The URL for its result is `webhook_url`.
CREATE TABLE heng_task (
    work_id       text PRIMARY KEY REFERENCES work ON DELETE CASCADE,
    access_key    text NOT NULL REFERENCES heng_access_key,
    update_url    text NOT NULL,
    message_bytes integer NOT NULL CHECK (message_bytes >= 0)
);

-- An unlisted problem holds the data of such tasks. It is not in the list of problems, and takes no other submissions.
ALTER TABLE problem ADD COLUMN unlisted boolean NOT NULL DEFAULT false;

ALTER TABLE work DROP CONSTRAINT work_webhook_format_check,
    ADD CONSTRAINT work_webhook_format_check CHECK (webhook_format IN ('judge0', 'heng'));
-- The callbacks of a heng task have the ordinals 1 to 4 and are sent in this order; other webhooks have 0.
ALTER TABLE webhook_delivery DROP CONSTRAINT webhook_delivery_format_check,
    ADD CONSTRAINT webhook_delivery_format_check CHECK (format IN ('standard', 'judge0', 'heng')),
    ADD COLUMN ordinal smallint NOT NULL DEFAULT 0 CHECK (ordinal BETWEEN 0 AND 4);
CREATE INDEX webhook_in_order ON webhook_delivery (work_id, ordinal) WHERE state = 'waiting' AND ordinal > 0;

-- Two deliveries of one submission differ in their last 16 digits, which a hash gives.
CREATE FUNCTION heng_delivery_id(work_id text, ordinal integer) RETURNS text LANGUAGE sql IMMUTABLE AS
$$ SELECT 'whd_' || substr(work_id, 5, 10) || substr(md5(work_id || ordinal), 1, 16) $$;
