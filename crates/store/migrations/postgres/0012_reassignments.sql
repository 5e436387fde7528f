-- Systems that went to another organization (contract 03 §11.2): a row for each move, which outlives the system, both
-- organizations and whoever did it.
CREATE TABLE system_reassignments (
  id uuid PRIMARY KEY NOT NULL,
  system_id uuid NOT NULL,
  system_key text COLLATE "C" NOT NULL,
  from_org_id uuid NOT NULL,
  to_org_id uuid NOT NULL,
  actor_user_id uuid,
  actor_user_email text COLLATE "C",
  actor_organization_id uuid,
  actor_ip text COLLATE "C" NOT NULL,
  user_agent text COLLATE "C",
  backups_copied bigint NOT NULL,
  -- Counted by the job that clears up behind the move.
  backups_deleted bigint NOT NULL DEFAULT 0,
  silences_cleared bigint NOT NULL DEFAULT 0,
  history_rows_reassigned bigint NOT NULL DEFAULT 0,
  apps_unassigned bigint NOT NULL,
  occurred_at timestamptz NOT NULL
);
CREATE INDEX system_reassignments_system ON system_reassignments (system_id, occurred_at);
