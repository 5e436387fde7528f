-- A slim copy of the systems for the alternatives A and B: the same rows, a materialized path beside them, one index
-- for each order and none for scopes but the organization and the path. Notation: [[PostgreSQL||SQLite]].
-- The labels of a path are as short as they can be (a number of 5 hex digits for each level).

DROP TABLE IF EXISTS alternative_systems;
DROP TABLE IF EXISTS alternative_paths;

CREATE TABLE alternative_paths AS
  WITH RECURSIVE numbered AS (
    SELECT id, parent_id, [[lpad(to_hex(row_number() OVER (ORDER BY id)), 5, '0')||printf('%05x', row_number() OVER (ORDER BY id))]] AS label
      FROM organizations),
  tree (id, path) AS (
    SELECT id, label || '/' FROM numbered WHERE parent_id IS NULL
    UNION ALL
    SELECT n.id, t.path || n.label || '/' FROM numbered n JOIN tree t ON n.parent_id = t.id)
  SELECT id, [[CAST(path AS text) COLLATE "C"||path]] AS path FROM tree;
CREATE UNIQUE INDEX alternative_paths_id ON alternative_paths (id);

CREATE TABLE alternative_systems AS
  SELECT s.*, p.path FROM systems s JOIN alternative_paths p ON p.id = s.organization_id ORDER BY s.id;
CREATE UNIQUE INDEX alternative_systems_id ON alternative_systems (id);
CREATE INDEX alternative_systems_organization ON alternative_systems (organization_id);
CREATE INDEX alternative_systems_path ON alternative_systems (path);
CREATE INDEX alternative_systems_name ON alternative_systems (name_key, id) WHERE deleted_at IS NULL;
CREATE INDEX alternative_systems_type ON alternative_systems (type_key, id) WHERE deleted_at IS NULL;
CREATE INDEX alternative_systems_fqdn ON alternative_systems (fqdn_key, id) WHERE deleted_at IS NULL;
CREATE INDEX alternative_systems_version ON alternative_systems (version, id) WHERE deleted_at IS NULL;
CREATE INDEX alternative_systems_key ON alternative_systems (system_key, id) WHERE deleted_at IS NULL;
CREATE INDEX alternative_systems_created ON alternative_systems (created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX alternative_systems_updated ON alternative_systems (updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX alternative_systems_creator ON alternative_systems (creator_key, id) WHERE deleted_at IS NULL;
