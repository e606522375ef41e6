-- name: write!
-- Stores a small artifact; the same content is stored once.
INSERT INTO artifact (digest, content) VALUES (:digest, :content) ON CONFLICT DO NOTHING;

-- name: fetch$
-- Reads a small artifact.
SELECT content FROM artifact WHERE digest = :digest;
