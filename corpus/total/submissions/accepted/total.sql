CREATE TABLE input (x INTEGER);
.import /dev/stdin input
SELECT sum(x) FROM input WHERE rowid > 1;
