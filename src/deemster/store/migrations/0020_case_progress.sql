-- The cases that a running submission has passed or failed so far, as its owner may see them: number, verdict, CPU time
-- in ms and memory in KiB of each. Heartbeats write them (J10).
ALTER TABLE lease ADD COLUMN cases jsonb NOT NULL DEFAULT '[]';
