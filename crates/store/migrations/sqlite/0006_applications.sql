-- What is installed on systems (spec: applications#application), and the figures kept about it.

-- One row for each module ever seen on a system. home_id, p2, p3: the place of the system, which decides who sees it;
-- organization_id: to whom it is assigned. When it was seen last is said once for the system (application_hosts).
CREATE TABLE applications (
  id BLOB PRIMARY KEY NOT NULL,
  system_id BLOB NOT NULL,
  home_id BLOB NOT NULL,
  p2 BLOB NOT NULL,
  p3 BLOB NOT NULL,
  module_id TEXT NOT NULL,
  module_key TEXT NOT NULL,
  instance_of TEXT NOT NULL,
  type_key TEXT NOT NULL,
  name TEXT,
  source TEXT,
  display_name TEXT,
  -- Of the display name or, without one, of the module id.
  display_key TEXT NOT NULL,
  node_id INTEGER,
  node_label TEXT,
  version TEXT NOT NULL DEFAULT '',
  certification_level INTEGER CHECK (certification_level BETWEEN 0 AND 5),
  is_user_facing INTEGER NOT NULL,
  url TEXT,
  -- Text, not parsed again: numbers of any size come out as they went in.
  inventory_data TEXT NOT NULL,
  backup_data TEXT,
  services_data TEXT,
  has_errors INTEGER NOT NULL DEFAULT 0,
  status TEXT NOT NULL DEFAULT 'unassigned' CHECK (status IN ('unassigned', 'assigned', 'error')),
  organization_id BLOB REFERENCES organizations (id),
  notes TEXT,
  search_key TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  first_seen_at INTEGER NOT NULL,
  deleted_at INTEGER,
  -- Deleted by a user: the next document comes back to it even if its text is the same again.
  is_dismissed INTEGER NOT NULL DEFAULT 0,
  UNIQUE (system_id, module_id),
  FOREIGN KEY (system_id, home_id, p2, p3) REFERENCES systems (id, organization_id, p2, p3)
    ON DELETE CASCADE ON UPDATE CASCADE
) STRICT;
CREATE INDEX applications_organization ON applications (organization_id) WHERE organization_id IS NOT NULL;
CREATE INDEX applications_gone ON applications (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX applications_faulty ON applications (home_id) WHERE has_errors;
-- What lists show: every scope column with every sort column.
CREATE INDEX applications_all_created ON applications (created_at, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_all_display ON applications (display_key, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_all_module ON applications (module_key, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_all_type ON applications (type_key, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_all_version ON applications (version, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_all_status ON applications (status, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_all_level ON applications (certification_level, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_all_updated ON applications (updated_at, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_all_assigned ON applications (organization_id, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4 AND organization_id IS NOT NULL;
CREATE INDEX applications_p2_created ON applications (p2, created_at, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_p2_display ON applications (p2, display_key, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_p2_module ON applications (p2, module_key, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_p2_type ON applications (p2, type_key, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_p2_version ON applications (p2, version, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_p2_status ON applications (p2, status, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_p2_level ON applications (p2, certification_level, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_p2_updated ON applications (p2, updated_at, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_p2_assigned ON applications (p2, organization_id, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4 AND organization_id IS NOT NULL;
CREATE INDEX applications_p3_created ON applications (p3, created_at, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_p3_display ON applications (p3, display_key, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_p3_module ON applications (p3, module_key, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_p3_type ON applications (p3, type_key, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_p3_version ON applications (p3, version, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_p3_status ON applications (p3, status, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_p3_level ON applications (p3, certification_level, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_p3_updated ON applications (p3, updated_at, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_p3_assigned ON applications (p3, organization_id, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4 AND organization_id IS NOT NULL;
CREATE INDEX applications_home_created ON applications (home_id, created_at, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_home_display ON applications (home_id, display_key, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_home_module ON applications (home_id, module_key, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_home_type ON applications (home_id, type_key, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_home_version ON applications (home_id, version, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_home_status ON applications (home_id, status, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_home_level ON applications (home_id, certification_level, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_home_updated ON applications (home_id, updated_at, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4;
CREATE INDEX applications_home_assigned ON applications (home_id, organization_id, id) WHERE deleted_at IS NULL AND is_user_facing AND certification_level >= 4 AND organization_id IS NOT NULL;

-- A system whose documents list modules. Its applications that are not deleted were all in the newest of them, so the
-- time is kept once. digest: of what that document listed, empty when it listed none; NULL after a user has deleted one.
CREATE TABLE application_hosts (
  system_id BLOB PRIMARY KEY NOT NULL,
  home_id BLOB NOT NULL,
  p2 BLOB NOT NULL,
  p3 BLOB NOT NULL,
  name_key TEXT NOT NULL,
  seen_at INTEGER NOT NULL,
  digest BLOB,
  FOREIGN KEY (system_id, home_id, p2, p3) REFERENCES systems (id, organization_id, p2, p3)
    ON DELETE CASCADE ON UPDATE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX application_hosts_all_name ON application_hosts (name_key, system_id);
CREATE INDEX application_hosts_all_seen ON application_hosts (seen_at, system_id);
CREATE INDEX application_hosts_p2_name ON application_hosts (p2, name_key, system_id);
CREATE INDEX application_hosts_p2_seen ON application_hosts (p2, seen_at, system_id);
CREATE INDEX application_hosts_p3_name ON application_hosts (p3, name_key, system_id);
CREATE INDEX application_hosts_p3_seen ON application_hosts (p3, seen_at, system_id);
CREATE INDEX application_hosts_home_name ON application_hosts (home_id, name_key, system_id);
CREATE INDEX application_hosts_home_seen ON application_hosts (home_id, seen_at, system_id);

-- What lists show, by the system's organization. Nothing of a system deleted on its own counts, here and in
-- assignment_counts; whether an organization is deleted is looked up when they are read.
CREATE TABLE application_counts (
  home_id BLOB NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  instance_of TEXT NOT NULL,
  version TEXT NOT NULL,
  name TEXT NOT NULL,
  unassigned INTEGER NOT NULL DEFAULT 0,
  assigned INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (home_id, instance_of, version, name)
) STRICT, WITHOUT ROWID;

-- By the organization they are assigned to and the one their system belongs to: `applications` as in
-- spec: organizations#counts, `listed` those of them that lists show.
CREATE TABLE assignment_counts (
  organization_id BLOB NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  home_id BLOB NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  applications INTEGER NOT NULL DEFAULT 0,
  listed INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (organization_id, home_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX assignment_counts_home ON assignment_counts (home_id);
