-- A webhook is a POST in our own format, or a callback in the format of Judge0.
-- NULL is our own format, so that work without a callback needs no space for it.
ALTER TABLE work ADD COLUMN webhook_format text CHECK (webhook_format IN ('judge0'));
ALTER TABLE webhook_delivery
    ADD COLUMN format text NOT NULL DEFAULT 'standard' CHECK (format IN ('standard', 'judge0'));
