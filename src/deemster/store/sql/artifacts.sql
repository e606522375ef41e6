-- name: put!
INSERT INTO artifact (digest, content) VALUES (:digest, :content) ON CONFLICT DO NOTHING;

-- name: get$
SELECT content FROM artifact WHERE digest = :digest;
