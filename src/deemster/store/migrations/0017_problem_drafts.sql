-- A problem that is not published is seen only by its author and by admins.
ALTER TABLE problem ADD COLUMN published boolean NOT NULL DEFAULT true;
