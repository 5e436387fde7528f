-- The orders of organizations by time of creation and name, as the other orders: without what is deleted, so that a page
-- is found by the index alone.
DROP INDEX organizations_type_created;
DROP INDEX organizations_p2_created;
DROP INDEX organizations_p3_created;
DROP INDEX organizations_type_name;
DROP INDEX organizations_p2_name;
DROP INDEX organizations_p3_name;
CREATE INDEX organizations_type_created ON organizations (type, created_at, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_p2_created ON organizations (p2, type, created_at, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_p3_created ON organizations (p3, type, created_at, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_type_name ON organizations (type, name_key, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_p2_name ON organizations (p2, type, name_key, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_p3_name ON organizations (p3, type, name_key, id) WHERE eff_deleted_at IS NULL;
