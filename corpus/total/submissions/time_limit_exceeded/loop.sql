CREATE TABLE input (x INTEGER);
.import /dev/stdin input
WITH RECURSIVE forever (i) AS (
    SELECT x FROM input WHERE rowid = 1 AND x = 13
    UNION ALL
    SELECT 13 FROM forever
)
SELECT sum(x) FROM input WHERE rowid > 1 AND NOT EXISTS (SELECT 1 FROM forever WHERE i <> 13);
