-- Orders, figures and filters of organizations and users: every first page is the beginning of an index range whoever
-- asks (docs/tree.md).
-- The beginning of the folded description: an index has no room for all of it.
ALTER TABLE organizations ADD COLUMN description_order text COLLATE "C" NOT NULL DEFAULT '';
UPDATE organizations SET description_order = substr(description_key, 1, 255);
CREATE INDEX organizations_type_description ON organizations (type, description_order, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_p2_type_description ON organizations (p2, type, description_order, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_p3_type_description ON organizations (p3, type, description_order, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_type_updated ON organizations (type, updated_at, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_p2_type_updated ON organizations (p2, type, updated_at, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_p3_type_updated ON organizations (p3, type, updated_at, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_type_suspended ON organizations (type, eff_suspended_at, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_p2_type_suspended ON organizations (p2, type, eff_suspended_at, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_p3_type_suspended ON organizations (p3, type, eff_suspended_at, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_type_creator ON organizations (type, creator_key, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_p2_type_creator ON organizations (p2, type, creator_key, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_p3_type_creator ON organizations (p3, type, creator_key, id) WHERE eff_deleted_at IS NULL;
-- All families in one list.
CREATE INDEX organizations_any_description ON organizations (description_order, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_p2_any_description ON organizations (p2, description_order, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_p3_any_description ON organizations (p3, description_order, id) WHERE eff_deleted_at IS NULL;
-- Who created what.
CREATE INDEX organizations_type_maker ON organizations (type, creator_user_id, created_at, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_p2_type_maker ON organizations (p2, type, creator_user_id, created_at, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_p3_type_maker ON organizations (p3, type, creator_user_id, created_at, id) WHERE eff_deleted_at IS NULL;
-- The few suspended organizations, for the totals of users.
CREATE INDEX organizations_suspended ON organizations (p2, p3, id) WHERE eff_suspended_at IS NOT NULL;

CREATE INDEX users_all_username ON users (username_key, id) WHERE deleted_at IS NULL;
CREATE INDEX users_p2_username ON users (p2, username_key, id) WHERE deleted_at IS NULL;
CREATE INDEX users_p3_username ON users (p3, username_key, id) WHERE deleted_at IS NULL;
CREATE INDEX users_org_username ON users (organization_id, username_key, id) WHERE deleted_at IS NULL;
CREATE INDEX users_all_updated ON users (updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX users_p2_updated ON users (p2, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX users_p3_updated ON users (p3, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX users_org_updated ON users (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX users_all_login ON users (latest_login_at, id) WHERE deleted_at IS NULL;
CREATE INDEX users_p2_login ON users (p2, latest_login_at, id) WHERE deleted_at IS NULL;
CREATE INDEX users_p3_login ON users (p3, latest_login_at, id) WHERE deleted_at IS NULL;
CREATE INDEX users_org_login ON users (organization_id, latest_login_at, id) WHERE deleted_at IS NULL;
CREATE INDEX users_all_creator ON users (creator_key, id) WHERE deleted_at IS NULL;
CREATE INDEX users_p2_creator ON users (p2, creator_key, id) WHERE deleted_at IS NULL;
CREATE INDEX users_p3_creator ON users (p3, creator_key, id) WHERE deleted_at IS NULL;
CREATE INDEX users_org_creator ON users (organization_id, creator_key, id) WHERE deleted_at IS NULL;
CREATE INDEX users_suspended ON users (p2, p3, organization_id, id) WHERE deleted_at IS NULL AND suspended_at IS NOT NULL;
-- Orders by the organization and by the suspension walk users by id.
CREATE INDEX users_p2_id ON users (p2, id) WHERE deleted_at IS NULL;
CREATE INDEX users_p3_id ON users (p3, id) WHERE deleted_at IS NULL;
CREATE INDEX users_org_id ON users (organization_id, id) WHERE deleted_at IS NULL;
