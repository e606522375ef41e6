-- name: line^
-- Those that wait, and for how long the first of them has.
SELECT count(*) FILTER (WHERE state = 'PENDING') AS pending,
       count(*) FILTER (WHERE state = 'QUEUED') AS queued,
       extract(epoch FROM now() - min(submitted_at))::float AS oldest_s
  FROM submission WHERE state IN ('PENDING', 'QUEUED');

-- name: running$
-- Those that are being judged.
SELECT count(*) FROM submission WHERE state = 'RUNNING';
