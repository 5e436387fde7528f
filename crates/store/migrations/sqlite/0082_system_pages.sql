-- The orders of systems with their organization, so that what a page passes over is read from the index alone: the few
-- deleted organizations are known beforehand.
DROP INDEX systems_all_name;
DROP INDEX systems_all_type;
DROP INDEX systems_all_fqdn;
DROP INDEX systems_all_version;
DROP INDEX systems_all_created;
DROP INDEX systems_all_updated;
DROP INDEX systems_all_creator;
DROP INDEX systems_all_key;
DROP INDEX systems_p2_name;
DROP INDEX systems_p2_type;
DROP INDEX systems_p2_fqdn;
DROP INDEX systems_p2_version;
DROP INDEX systems_p2_created;
DROP INDEX systems_p2_updated;
DROP INDEX systems_p2_creator;
DROP INDEX systems_p2_key;
DROP INDEX systems_p3_name;
DROP INDEX systems_p3_type;
DROP INDEX systems_p3_fqdn;
DROP INDEX systems_p3_version;
DROP INDEX systems_p3_created;
DROP INDEX systems_p3_updated;
DROP INDEX systems_p3_creator;
DROP INDEX systems_p3_key;
CREATE INDEX systems_all_name ON systems (name_key, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX systems_all_type ON systems (type_key, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX systems_all_fqdn ON systems (fqdn_key, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX systems_all_version ON systems (version, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX systems_all_created ON systems (created_at, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX systems_all_updated ON systems (updated_at, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX systems_all_creator ON systems (creator_key, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX systems_all_key ON systems (system_key, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p2_name ON systems (p2, name_key, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p2_type ON systems (p2, type_key, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p2_fqdn ON systems (p2, fqdn_key, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p2_version ON systems (p2, version, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p2_created ON systems (p2, created_at, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p2_updated ON systems (p2, updated_at, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p2_creator ON systems (p2, creator_key, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p2_key ON systems (p2, system_key, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p3_name ON systems (p3, name_key, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p3_type ON systems (p3, type_key, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p3_fqdn ON systems (p3, fqdn_key, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p3_version ON systems (p3, version, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p3_created ON systems (p3, created_at, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p3_updated ON systems (p3, updated_at, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p3_creator ON systems (p3, creator_key, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p3_key ON systems (p3, system_key, id, organization_id) WHERE deleted_at IS NULL;
-- The order by status: those that are neither deleted nor suspended on their own, by id.
DROP INDEX systems_p2_id;
DROP INDEX systems_p3_id;
DROP INDEX systems_all_unheard;
DROP INDEX systems_p2_unheard;
DROP INDEX systems_p3_unheard;
DROP INDEX systems_org_unheard;
CREATE INDEX systems_all_live ON systems (id, organization_id) WHERE deleted_at IS NULL AND suspended_at IS NULL;
CREATE INDEX systems_p2_live ON systems (p2, id, organization_id) WHERE deleted_at IS NULL AND suspended_at IS NULL;
CREATE INDEX systems_p3_live ON systems (p3, id, organization_id) WHERE deleted_at IS NULL AND suspended_at IS NULL;
CREATE INDEX systems_all_unheard ON systems (id, organization_id)
  WHERE deleted_at IS NULL AND suspended_at IS NULL AND first_heartbeat_at IS NULL;
CREATE INDEX systems_p2_unheard ON systems (p2, id, organization_id)
  WHERE deleted_at IS NULL AND suspended_at IS NULL AND first_heartbeat_at IS NULL;
CREATE INDEX systems_p3_unheard ON systems (p3, id, organization_id)
  WHERE deleted_at IS NULL AND suspended_at IS NULL AND first_heartbeat_at IS NULL;
CREATE INDEX systems_org_unheard ON systems (organization_id, id)
  WHERE deleted_at IS NULL AND suspended_at IS NULL AND first_heartbeat_at IS NULL;
-- What a search looks at, with what it finds.
DROP INDEX systems_search;
CREATE INDEX systems_search ON systems (search_key, organization_id, id) WHERE deleted_at IS NULL;
-- Move with every change of what a filter of systems looks at, and of how many are counted as what.
ALTER TABLE list_epochs ADD COLUMN systems INTEGER NOT NULL DEFAULT 0;
ALTER TABLE list_epochs ADD COLUMN statuses INTEGER NOT NULL DEFAULT 0;
