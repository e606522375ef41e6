-- Which compilers and interpreters a worker has, exactly (J6): by the ids of its languages.
ALTER TABLE worker ADD COLUMN versions jsonb NOT NULL DEFAULT '{}' CHECK (jsonb_typeof(versions) = 'object');
