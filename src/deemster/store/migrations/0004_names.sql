-- A name is its account's in any case: `Ada` can't pass for `ada`. By "C": names are ASCII, whatever the database's language.
DO $$
DECLARE
    twins text;
BEGIN
    SELECT string_agg(names, ', ') INTO twins
      FROM (SELECT string_agg(name, ' and ' ORDER BY created_at, id) AS names
              FROM account GROUP BY lower(name COLLATE "C") HAVING count(*) > 1 LIMIT 20) AS t;
    IF twins IS NOT NULL THEN
        RAISE EXCEPTION 'Names of accounts may not differ in case only any more, and these do: %. Rename one of each '
            'with psql (UPDATE account SET name = ''…'' WHERE name = ''…''), tell its owner, and migrate again.', twins;
    END IF;
END $$;
ALTER TABLE account DROP CONSTRAINT account_name_key;
CREATE UNIQUE INDEX account_name ON account (lower(name COLLATE "C"));

-- The `iat` of the newest token of it that was seen, in seconds: older ones don't change a role.
ALTER TABLE identity ADD COLUMN newest_iat double precision;
