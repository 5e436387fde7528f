-- What people do about alerts (contract 04 §2.8), each known by its organization and fingerprint.
CREATE TABLE alert_activity (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  fingerprint text COLLATE "C" NOT NULL,
  action text COLLATE "C" NOT NULL,
  -- NULL: the service itself.
  actor_user_id uuid,
  actor_name text COLLATE "C",
  silence_id uuid,
  details jsonb NOT NULL,
  created_at timestamptz NOT NULL
);
CREATE INDEX alert_activity_alert ON alert_activity (organization_id, fingerprint, created_at, id);
CREATE INDEX alert_activity_silence ON alert_activity (organization_id, silence_id) WHERE silence_id IS NOT NULL;
CREATE INDEX alert_activity_created ON alert_activity (created_at);

-- Who takes care of an alert that fires. Names are those of the moment; system_key finds those of a system.
CREATE TABLE alert_assignments (
  organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  fingerprint text COLLATE "C" NOT NULL,
  system_key text COLLATE "C" NOT NULL,
  assigned_user_id uuid NOT NULL,
  assigned_user_name text COLLATE "C" NOT NULL,
  assigned_user_key text COLLATE "C" NOT NULL,
  assigned_user_org_id uuid NOT NULL,
  assigned_user_org_name text COLLATE "C" NOT NULL,
  assigned_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, fingerprint)
);
CREATE INDEX alert_assignments_system ON alert_assignments (organization_id, system_key);
