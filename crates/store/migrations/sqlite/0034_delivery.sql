-- Who is told of alerts, and what he was told (contract 04 §5.10).

-- The group an alert is in, or '' = not looked at yet, 'nobody' = nobody is told of it, 'left' = over, and whoever was to
-- be told has been. The revision moves with every push.
ALTER TABLE router_alerts ADD COLUMN group_id TEXT NOT NULL DEFAULT '';
ALTER TABLE router_alerts ADD COLUMN revision INTEGER NOT NULL DEFAULT 0;
CREATE INDEX router_alerts_group ON router_alerts (organization_id, group_id);
CREATE INDEX router_alerts_fresh ON router_alerts (organization_id) WHERE group_id = '';

-- Tenants that have or had alerts: which process looks after them until when, and by which configuration their groups
-- were made.
CREATE TABLE router_tenants (
  organization_id BLOB PRIMARY KEY NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  holder BLOB,
  held_until INTEGER NOT NULL,
  version INTEGER NOT NULL,
  plan TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX router_tenants_held ON router_tenants (held_until) WHERE holder IS NOT NULL;
CREATE INDEX router_tenants_version ON router_tenants (version);

-- Timers. While a group is being told of, started_at is set and due_at is the next time.
CREATE TABLE router_groups (
  organization_id BLOB NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  due_at INTEGER NOT NULL,
  started_at INTEGER,
  PRIMARY KEY (organization_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX router_groups_due ON router_groups (due_at) WHERE started_at IS NULL;

-- The notification log: what an integration was told of a group at its last success.
CREATE TABLE router_notices (
  organization_id BLOB NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  group_id TEXT NOT NULL,
  receiver TEXT NOT NULL,
  integration TEXT NOT NULL,
  firing TEXT NOT NULL,
  resolved TEXT NOT NULL,
  told_at INTEGER NOT NULL,
  PRIMARY KEY (organization_id, group_id, receiver, integration)
) STRICT, WITHOUT ROWID;
CREATE INDEX router_notices_told ON router_notices (told_at);

-- Recipients whose last notification failed, by a digest: their addresses may be secrets.
CREATE TABLE router_failures (
  recipient TEXT PRIMARY KEY NOT NULL,
  reason TEXT NOT NULL,
  failed_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX router_failures_failed ON router_failures (failed_at);
