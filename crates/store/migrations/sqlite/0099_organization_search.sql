-- A search for a text in names and descriptions reads these alone, in the order of names.
CREATE INDEX organizations_search ON organizations (name_key, id, type, description_key) WHERE eff_deleted_at IS NULL;
