-- Systems that went to another organization (contract 03 §11.2): a row for each move, which outlives the system, both
-- organizations and whoever did it.
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
