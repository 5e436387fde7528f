-- Searching a text anywhere in a name or address: by its trigrams.

-- The extension comes with PostgreSQL's own packages and may be created by the owner of a database; where it may not,
-- searching reads all rows of the scope.
DO $$
BEGIN
  CREATE EXTENSION IF NOT EXISTS pg_trgm;
  CREATE INDEX organizations_search ON organizations USING gin (search_key gin_trgm_ops);
  CREATE INDEX users_search ON users USING gin (search_key gin_trgm_ops);
  CREATE INDEX systems_search ON systems USING gin (search_key gin_trgm_ops);
EXCEPTION WHEN insufficient_privilege OR undefined_file OR feature_not_supported THEN
  RAISE NOTICE 'no trigram indexes: %', SQLERRM;
END $$;
