-- Who is told of alerts, and what he was told (contract 04 §5.10).

-- The group an alert is in, or '' = not looked at yet, 'nobody' = nobody is told of it, 'left' = over, and whoever was to
-- be told has been. The revision moves with every push.
ALTER TABLE router_alerts ADD COLUMN group_id text COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE router_alerts ADD COLUMN revision bigint NOT NULL DEFAULT 0;
CREATE INDEX router_alerts_group ON router_alerts (organization_id, group_id);
CREATE INDEX router_alerts_fresh ON router_alerts (organization_id) WHERE group_id = '';

-- Tenants that have or had alerts: which process looks after them until when, and by which configuration their groups
-- were made.
CREATE TABLE router_tenants (
  organization_id uuid PRIMARY KEY NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  holder uuid,
  held_until timestamptz NOT NULL,
  version bigint NOT NULL,
  plan text COLLATE "C" NOT NULL
);
CREATE INDEX router_tenants_held ON router_tenants (held_until) WHERE holder IS NOT NULL;
CREATE INDEX router_tenants_version ON router_tenants (version);

-- Timers. While a group is being told of, started_at is set and due_at is the next time.
CREATE TABLE router_groups (
  organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  id text COLLATE "C" NOT NULL,
  due_at timestamptz NOT NULL,
  started_at timestamptz,
  PRIMARY KEY (organization_id, id)
);
CREATE INDEX router_groups_due ON router_groups (due_at) WHERE started_at IS NULL;

-- The notification log: what an integration was told of a group at its last success.
CREATE TABLE router_notices (
  organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  group_id text COLLATE "C" NOT NULL,
  receiver text COLLATE "C" NOT NULL,
  integration text COLLATE "C" NOT NULL,
  firing text COLLATE "C" NOT NULL,
  resolved text COLLATE "C" NOT NULL,
  told_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, group_id, receiver, integration)
);
CREATE INDEX router_notices_told ON router_notices (told_at);

-- Recipients whose last notification failed, by a digest: their addresses may be secrets.
CREATE TABLE router_failures (
  recipient text COLLATE "C" PRIMARY KEY NOT NULL,
  reason text COLLATE "C" NOT NULL,
  failed_at timestamptz NOT NULL
);
CREATE INDEX router_failures_failed ON router_failures (failed_at);
