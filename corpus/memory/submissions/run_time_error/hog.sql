CREATE TABLE input (n INTEGER);
.import /dev/stdin input
CREATE TABLE memory (piece BLOB);
WITH RECURSIVE counter (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM counter WHERE i < (SELECT n FROM input))
INSERT INTO memory SELECT randomblob(1048576) FROM counter;
SELECT count(*) FROM memory;
