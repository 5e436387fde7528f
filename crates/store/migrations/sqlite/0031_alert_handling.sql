-- What people do about alerts (contract 04 §2.8), each known by its organization and fingerprint.
CREATE TABLE alert_activity (
  id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
  organization_id BLOB NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  fingerprint TEXT NOT NULL,
  action TEXT NOT NULL,
  -- NULL: the service itself.
  actor_user_id BLOB,
  actor_name TEXT,
  silence_id BLOB,
  details TEXT NOT NULL CHECK (json_valid(details)),
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX alert_activity_alert ON alert_activity (organization_id, fingerprint, created_at, id);
CREATE INDEX alert_activity_silence ON alert_activity (organization_id, silence_id) WHERE silence_id IS NOT NULL;
CREATE INDEX alert_activity_created ON alert_activity (created_at);

-- Who takes care of an alert that fires. Names are those of the moment; system_key finds those of a system.
CREATE TABLE alert_assignments (
  organization_id BLOB NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  fingerprint TEXT NOT NULL,
  system_key TEXT NOT NULL,
  assigned_user_id BLOB NOT NULL,
  assigned_user_name TEXT NOT NULL,
  assigned_user_key TEXT NOT NULL,
  assigned_user_org_id BLOB NOT NULL,
  assigned_user_org_name TEXT NOT NULL,
  assigned_at INTEGER NOT NULL,
  PRIMARY KEY (organization_id, fingerprint)
) STRICT, WITHOUT ROWID;
CREATE INDEX alert_assignments_system ON alert_assignments (organization_id, system_key);
