-- Searching a text anywhere in what a system is searched by, by its trigrams, as of users and organizations (0021).
DO $$
BEGIN
  CREATE EXTENSION IF NOT EXISTS pg_trgm;
  CREATE INDEX systems_search ON systems USING gin (search_key gin_trgm_ops);
EXCEPTION WHEN insufficient_privilege OR undefined_file OR feature_not_supported THEN
  RAISE NOTICE 'no trigram index: %', SQLERRM;
END $$;
-- The order of keys with the ids that a page is made of, so that what is passed over is read from the index alone.
DROP INDEX systems_p2_key;
DROP INDEX systems_p3_key;
CREATE INDEX systems_all_key ON systems (system_key, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p2_key ON systems (p2, system_key, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p3_key ON systems (p3, system_key, id) WHERE deleted_at IS NULL;
