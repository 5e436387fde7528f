-- Searching a text anywhere in a name or address: what is searched apart from the wide rows (PostgreSQL uses trigrams).

-- In the order of names.
CREATE INDEX organizations_search ON organizations (name_key, id, type, description_key) WHERE eff_deleted_at IS NULL;
-- With what a search finds.
CREATE INDEX systems_search ON systems (search_key, organization_id, id) WHERE deleted_at IS NULL;
