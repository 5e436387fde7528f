-- Systems, and what is known of one of them beside its inventory.

-- p2, p3: those of the organization, for scopes. A change of the tree changes them here by the foreign key.
CREATE TABLE systems (
  id BLOB PRIMARY KEY NOT NULL,
  organization_id BLOB NOT NULL,
  p2 BLOB NOT NULL,
  p3 BLOB NOT NULL,
  name TEXT NOT NULL,
  name_key TEXT NOT NULL,
  type TEXT,
  type_key TEXT NOT NULL DEFAULT '',
  fqdn TEXT NOT NULL DEFAULT '',
  fqdn_key TEXT NOT NULL DEFAULT '',
  ipv4_address TEXT NOT NULL DEFAULT '',
  ipv6_address TEXT NOT NULL DEFAULT '',
  version TEXT NOT NULL DEFAULT '',
  custom_data TEXT NOT NULL CHECK (json_valid(custom_data)),
  notes TEXT NOT NULL DEFAULT '',
  search_key TEXT NOT NULL,
  system_key TEXT NOT NULL,
  secret_public TEXT NOT NULL,
  -- hex(salt) ':' hex(SHA-256(salt || secret part))
  secret_hash TEXT NOT NULL,
  created_by TEXT NOT NULL CHECK (json_valid(created_by)),
  creator_user_id BLOB,
  creator_org_id BLOB,
  creator_key TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  registered_at INTEGER,
  registered_from TEXT,
  -- First authenticated call after the registration: from then on a repeated registration is a conflict.
  authenticated_at INTEGER,
  suspended_at INTEGER,
  deleted_at INTEGER,
  FOREIGN KEY (organization_id, p2, p3) REFERENCES organizations (id, p2, p3) ON UPDATE CASCADE
) STRICT;
CREATE UNIQUE INDEX systems_key_unique ON systems (system_key);
CREATE UNIQUE INDEX systems_secret_unique ON systems (secret_public);
CREATE INDEX systems_creator_user ON systems (creator_user_id);
CREATE INDEX systems_creator_org ON systems (creator_org_id);
-- The orders of the systems of one organization that people use all day. Other orders sort the systems of the scope.
CREATE INDEX systems_org_name ON systems (organization_id, name_key, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_org_created ON systems (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_org_id ON systems (organization_id, id) WHERE deleted_at IS NULL;
-- The few suspended ones.
CREATE INDEX systems_all_suspended ON systems (id) WHERE deleted_at IS NULL AND suspended_at IS NOT NULL;
CREATE INDEX systems_p2_suspended ON systems (p2, id) WHERE deleted_at IS NULL AND suspended_at IS NOT NULL;
CREATE INDEX systems_p3_suspended ON systems (p3, id) WHERE deleted_at IS NULL AND suspended_at IS NOT NULL;
CREATE INDEX systems_org_suspended ON systems (organization_id, id) WHERE deleted_at IS NULL AND suspended_at IS NOT NULL;
CREATE INDEX systems_organization ON systems (organization_id, p2, p3);
-- Tables that repeat the place of a system refer to it by this, so that the copies stay true by themselves.
CREATE UNIQUE INDEX systems_place_unique ON systems (id, organization_id, p2, p3);
-- The choices of the filters of systems, found by leaping from one value to the next.
CREATE INDEX systems_all_product ON systems (type, version) WHERE deleted_at IS NULL;
CREATE INDEX systems_all_author ON systems (creator_user_id, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p2_product ON systems (p2, type, version) WHERE deleted_at IS NULL;
CREATE INDEX systems_p2_author ON systems (p2, creator_user_id, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p3_product ON systems (p3, type, version) WHERE deleted_at IS NULL;
CREATE INDEX systems_p3_author ON systems (p3, creator_user_id, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_org_product ON systems (organization_id, type, version) WHERE deleted_at IS NULL;
CREATE INDEX systems_org_author ON systems (organization_id, creator_user_id, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_gone ON systems (deleted_at, id) WHERE deleted_at IS NOT NULL;
-- The same orders of larger scopes, with the organization, so that what a page passes over is read from the index alone: the few
-- deleted organizations are known beforehand.
CREATE INDEX systems_all_name ON systems (name_key, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX systems_all_created ON systems (created_at, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p2_name ON systems (p2, name_key, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p2_created ON systems (p2, created_at, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p3_name ON systems (p3, name_key, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p3_created ON systems (p3, created_at, id, organization_id) WHERE deleted_at IS NULL;
-- Alerts of deleted systems are not listed: the few keys by which they are recognized.
CREATE INDEX systems_gone_key ON systems (system_key) WHERE deleted_at IS NOT NULL;

-- What moves often about a system, apart from its wide and much indexed row. Each system has one. A heartbeat changes no indexed
-- column, unless the status changes with it.
CREATE TABLE system_activity (
  system_id BLOB PRIMARY KEY NOT NULL,
  organization_id BLOB NOT NULL,
  p2 BLOB NOT NULL,
  p3 BLOB NOT NULL,
  -- 0 unknown, 1 active, 2 inactive. The marks of the system and of its organization win over it (spec: systems#status).
  status INTEGER NOT NULL DEFAULT 0,
  last_heartbeat INTEGER,
  last_inventory INTEGER,
  latest_inventory_id INTEGER,
  FOREIGN KEY (system_id, organization_id, p2, p3) REFERENCES systems (id, organization_id, p2, p3)
    ON UPDATE CASCADE ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
-- The systems of a status, by id.
CREATE INDEX system_activity_all ON system_activity (status, system_id, organization_id);
CREATE INDEX system_activity_p2 ON system_activity (p2, status, system_id, organization_id);
CREATE INDEX system_activity_p3 ON system_activity (p3, status, system_id, organization_id);
CREATE INDEX system_activity_org ON system_activity (organization_id, status, system_id);

-- Credentials that systems have from an earlier installation (spec: systems-interface#credentials). Beside them,
-- systems.secret_hash may hold an imported Argon2id hash until its first use.
CREATE TABLE legacy_credentials (
  system_id BLOB PRIMARY KEY NOT NULL REFERENCES systems (id) ON DELETE CASCADE,
  legacy_id TEXT NOT NULL,
  -- hex(salt) ':' hex(SHA-256(salt || secret))
  secret_hash TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX legacy_credentials_id_unique ON legacy_credentials (legacy_id);

-- Systems that went to another organization (spec: systems#reassignment): a row for each move, which outlives the system,
-- both organizations and whoever did it.
CREATE TABLE system_reassignments (
  id BLOB PRIMARY KEY NOT NULL,
  system_id BLOB NOT NULL,
  system_key TEXT NOT NULL,
  from_org_id BLOB NOT NULL,
  to_org_id BLOB NOT NULL,
  actor_user_id BLOB,
  actor_user_email TEXT,
  actor_organization_id BLOB,
  actor_ip TEXT NOT NULL,
  user_agent TEXT,
  backups_copied INTEGER NOT NULL,
  -- Counted by the job that clears up behind the move.
  backups_deleted INTEGER NOT NULL DEFAULT 0,
  silences_cleared INTEGER NOT NULL DEFAULT 0,
  history_rows_reassigned INTEGER NOT NULL DEFAULT 0,
  apps_unassigned INTEGER NOT NULL,
  occurred_at INTEGER NOT NULL
) STRICT;
CREATE INDEX system_reassignments_system ON system_reassignments (system_id, occurred_at);

-- Backups of systems (spec: backups#backup): this is the list, the bytes are objects beside the database.
CREATE TABLE backups (
  -- UUIDv7 with the suffix that tells the kind of file.
  id TEXT PRIMARY KEY NOT NULL,
  system_id BLOB NOT NULL REFERENCES systems (id) ON DELETE CASCADE,
  -- That of the system, whose quota the bytes count against.
  organization_id BLOB NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  object_key TEXT NOT NULL,
  filename TEXT NOT NULL,
  size INTEGER NOT NULL,
  sha256 TEXT NOT NULL,
  mimetype TEXT NOT NULL,
  uploaded_at INTEGER NOT NULL,
  uploaded_from TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX backups_object_unique ON backups (object_key);
CREATE INDEX backups_system ON backups (system_id, uploaded_at, id);
CREATE INDEX backups_organization ON backups (organization_id);
