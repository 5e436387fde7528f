-- The organization tree (docs/tree.md).

-- p2, p3: the ancestor-or-self at level 2 and 3 or, where there is none, the nearest organization above; so the scope of
-- every caller is one equality. Own marks are the truth; the eff_ columns repeat the nearest acting mark and are rewritten
-- by whatever moves a mark or the tree.
--
-- A suspension rewrites eff_suspended_at of everything below an organization. That column is in no index, and each page
-- keeps room for a second version of all its rows: so the new versions stay in their pages and no index is written.
CREATE TABLE organizations (
  id uuid PRIMARY KEY NOT NULL,
  type text COLLATE "C" NOT NULL CHECK (type IN ('owner', 'distributor', 'reseller', 'customer')),
  parent_id uuid REFERENCES organizations (id),
  p2 uuid NOT NULL,
  p3 uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  name_key text COLLATE "C" NOT NULL,
  description text COLLATE "C" NOT NULL DEFAULT '',
  description_key text COLLATE "C" NOT NULL DEFAULT '',
  -- The beginning of the folded description: an index has no room for all of it.
  description_order text COLLATE "C" NOT NULL DEFAULT '',
  vat text COLLATE "C",
  vat_key text COLLATE "C",
  custom_data jsonb NOT NULL,
  search_key text COLLATE "C" NOT NULL,
  created_by jsonb,
  creator_user_id uuid,
  creator_org_id uuid,
  creator_key text COLLATE "C",
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  updated_by_org_id uuid,
  promoted_from jsonb,
  suspended_at timestamptz,
  deleted_at timestamptz,
  eff_suspended_at timestamptz,
  eff_suspended_by uuid,
  eff_deleted_at timestamptz,
  eff_deleted_by uuid,
  UNIQUE (id, p2, p3),
  CHECK ((type = 'owner') = (parent_id IS NULL))
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX organizations_one_owner ON organizations (type) WHERE type = 'owner';
CREATE UNIQUE INDEX organizations_distributor_vat_unique ON organizations (vat_key) WHERE type = 'distributor' AND deleted_at IS NULL;
CREATE UNIQUE INDEX organizations_reseller_vat_unique ON organizations (vat_key) WHERE type = 'reseller' AND deleted_at IS NULL;
CREATE INDEX organizations_parent ON organizations (parent_id);
CREATE INDEX organizations_vat ON organizations (vat_key);
CREATE INDEX organizations_creator_user ON organizations (creator_user_id);
CREATE INDEX organizations_creator_org ON organizations (creator_org_id);
CREATE INDEX organizations_name ON organizations (name_key, id);
CREATE INDEX organizations_p2_any_name ON organizations (p2, name_key, id);
CREATE INDEX organizations_p3_any_name ON organizations (p3, name_key, id);
-- Counting what lives in a scope reads one of these and never the wide row.
CREATE INDEX organizations_live_type ON organizations (type, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_live_p2 ON organizations (p2, type, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_live_p3 ON organizations (p3, type, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_gone ON organizations (type, id) WHERE eff_deleted_at IS NOT NULL;
-- The orders of lists, without what is deleted: every first page is the beginning of an index range, whoever asks.
CREATE INDEX organizations_type_description ON organizations (type, description_order, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_p2_type_description ON organizations (p2, type, description_order, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_p3_type_description ON organizations (p3, type, description_order, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_type_updated ON organizations (type, updated_at, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_p2_type_updated ON organizations (p2, type, updated_at, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_p3_type_updated ON organizations (p3, type, updated_at, id) WHERE eff_deleted_at IS NULL;
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
-- The own marks, from which what is suspended below them is found.
CREATE INDEX organizations_marked ON organizations (type, id) WHERE suspended_at IS NOT NULL;
-- The orders by time of creation and by name.
CREATE INDEX organizations_type_created ON organizations (type, created_at, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_p2_created ON organizations (p2, type, created_at, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_p3_created ON organizations (p3, type, created_at, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_type_name ON organizations (type, name_key, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_p2_name ON organizations (p2, type, name_key, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_p3_name ON organizations (p3, type, name_key, id) WHERE eff_deleted_at IS NULL;

-- Rows not deleted on their own, kept by the statements that insert, delete, restore or move them: the unfiltered total of
-- a list is a sum over organizations instead of a count of rows.
CREATE TABLE organization_counts (
  organization_id uuid PRIMARY KEY NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  systems bigint NOT NULL DEFAULT 0,
  -- Of these: suspended on their own; of the others, those of status 0 and 2 (system_activity.status).
  systems_suspended bigint NOT NULL DEFAULT 0,
  systems_unknown bigint NOT NULL DEFAULT 0,
  systems_inactive bigint NOT NULL DEFAULT 0,
  users bigint NOT NULL DEFAULT 0,
  -- What lists show of the systems of the organization.
  applications bigint NOT NULL DEFAULT 0
);
