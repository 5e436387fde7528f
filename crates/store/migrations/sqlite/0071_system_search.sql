-- A search reads what it looks at from here instead of the wide rows; PostgreSQL gets trigrams.
CREATE INDEX systems_search ON systems (search_key, organization_id) WHERE deleted_at IS NULL;
-- The order of keys with the ids that a page is made of, so that what is passed over is read from the index alone.
DROP INDEX systems_p2_key;
DROP INDEX systems_p3_key;
CREATE INDEX systems_all_key ON systems (system_key, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p2_key ON systems (p2, system_key, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p3_key ON systems (p3, system_key, id) WHERE deleted_at IS NULL;
