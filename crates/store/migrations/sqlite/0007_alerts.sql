-- Alerts: the embedded router, the history, what people do about them, and remote routers.

-- The embedded router's alerts. It reads and writes its records (payload) whole: they are text, which nobody takes apart.
CREATE TABLE router_alerts (
  organization_id BLOB NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  fingerprint TEXT NOT NULL,
  system_key TEXT NOT NULL,
  ends_at INTEGER NOT NULL,
  payload TEXT NOT NULL CHECK (json_valid(payload)),
  -- The group it is in, or '' = not looked at yet, 'nobody' = nobody is told of it, 'left' = over, and whoever was to be
  -- told has been, 'unknown' = who is told of it cannot be read, and its tenant has the plan 'unreadable'.
  group_id TEXT NOT NULL DEFAULT '',
  -- Moves with every push.
  revision INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (organization_id, fingerprint)
) STRICT;
CREATE INDEX router_alerts_system ON router_alerts (organization_id, system_key, ends_at);
CREATE INDEX router_alerts_end ON router_alerts (ends_at);
CREATE INDEX router_alerts_group ON router_alerts (organization_id, group_id);
CREATE INDEX router_alerts_fresh ON router_alerts (organization_id) WHERE group_id = '';

-- The embedded router's silences.
CREATE TABLE router_silences (
  organization_id BLOB NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  id BLOB NOT NULL,
  system_key TEXT NOT NULL,
  ends_at INTEGER NOT NULL,
  payload TEXT NOT NULL CHECK (json_valid(payload)),
  -- The size of its regular expressions when compiled, in bytes; 0: not known.
  compiled_bytes INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (organization_id, id)
) STRICT;
CREATE INDEX router_silences_system ON router_silences (organization_id, system_key, ends_at);
CREATE INDEX router_silences_end ON router_silences (ends_at);
-- A silence is looked for by its id alone where a request names an organization and everything below it.
CREATE INDEX router_silences_id ON router_silences (id);

-- One row: when a process last served, and the last time in which none did (spec: alert-router#life).
CREATE TABLE router_life (
  id INTEGER PRIMARY KEY NOT NULL CHECK (id = 1),
  alive_at INTEGER NOT NULL,
  down_since INTEGER,
  up_since INTEGER
) STRICT;

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
CREATE INDEX router_tenants_unreadable ON router_tenants (organization_id) WHERE plan = 'unreadable';

-- Timers of groups. While a group is being told of, started_at is set and due_at is the next time.
CREATE TABLE router_groups (
  organization_id BLOB NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  id TEXT NOT NULL,
  due_at INTEGER NOT NULL,
  started_at INTEGER,
  PRIMARY KEY (organization_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX router_groups_due ON router_groups (due_at) WHERE started_at IS NULL;
-- Groups that are being told of, by tenant: a change of who is told, and whoever takes a tenant over, ask for them.
CREATE INDEX router_groups_started ON router_groups (organization_id) WHERE started_at IS NOT NULL;

-- The notification log (spec: alert-delivery#notification-log): what an integration was told of a group at its last success.
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

-- Alert history (spec: alert-management#history): one row for each occurrence of an alert. Written by whoever holds the
-- tenant (store::history::hold), so figures and rows agree. p2 and p3 are those of the organization, for scopes.
CREATE TABLE alert_history (
  id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
  organization_id BLOB NOT NULL,
  p2 BLOB NOT NULL,
  p3 BLOB NOT NULL,
  system_key TEXT NOT NULL,
  alertname TEXT NOT NULL,
  severity TEXT,
  status TEXT NOT NULL CHECK (status IN ('firing', 'resolved')),
  fingerprint TEXT NOT NULL,
  starts_at INTEGER NOT NULL,
  ends_at INTEGER,
  -- When a row that fires ends by itself. In no index: a refresh, the most frequent change, moves nothing but this.
  expires_at INTEGER,
  summary TEXT,
  labels TEXT NOT NULL CHECK (json_valid(labels)),
  annotations TEXT NOT NULL CHECK (json_valid(annotations)),
  receiver TEXT,
  -- When the row was made; from the resolution on, when that was heard of.
  created_at INTEGER NOT NULL,
  FOREIGN KEY (organization_id, p2, p3) REFERENCES organizations (id, p2, p3) ON UPDATE CASCADE ON DELETE CASCADE
) STRICT;
CREATE UNIQUE INDEX alert_history_occurrence_unique ON alert_history (organization_id, fingerprint, starts_at);
CREATE UNIQUE INDEX alert_history_open_unique ON alert_history (organization_id, fingerprint) WHERE status = 'firing';
CREATE INDEX alert_history_all_created ON alert_history (created_at, id);
CREATE INDEX alert_history_p2_created ON alert_history (p2, created_at, id);
CREATE INDEX alert_history_p3_created ON alert_history (p3, created_at, id);
CREATE INDEX alert_history_org_created ON alert_history (organization_id, created_at, id);
CREATE INDEX alert_history_system_created ON alert_history (system_key, created_at, id);
CREATE INDEX alert_history_all_started ON alert_history (starts_at, id);
-- The rows that fire are few: those of a scope, in the order of the list of active alerts.
CREATE INDEX alert_history_open_all ON alert_history (starts_at) WHERE status = 'firing';
CREATE INDEX alert_history_open_p2 ON alert_history (p2, starts_at) WHERE status = 'firing';
CREATE INDEX alert_history_open_p3 ON alert_history (p3, starts_at) WHERE status = 'firing';
CREATE INDEX alert_history_open_org ON alert_history (organization_id, starts_at) WHERE status = 'firing';
CREATE INDEX alert_history_open_system ON alert_history (system_key, starts_at) WHERE status = 'firing';
-- Whether a name still occurs: as many characters as alert_names keeps.
CREATE INDEX alert_history_org_name ON alert_history (organization_id, SUBSTR(alertname, 1, 200));

-- Resolved rows by the UTC day of created_at (days since 1970), kept by whoever writes the rows.
CREATE TABLE alert_history_days (
  organization_id BLOB NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  day INTEGER NOT NULL,
  resolved INTEGER NOT NULL,
  PRIMARY KEY (organization_id, day)
) STRICT, WITHOUT ROWID;
-- Trends of everything.
CREATE INDEX alert_history_days_day ON alert_history_days (day);

-- Figures of each organization. history: resolved rows, kept like the days. The others: what a remote router said when
-- it was asked last (updated_at; NULL: never).
CREATE TABLE alert_totals (
  organization_id BLOB PRIMARY KEY NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  active INTEGER NOT NULL DEFAULT 0,
  critical INTEGER NOT NULL DEFAULT 0,
  warning INTEGER NOT NULL DEFAULT 0,
  info INTEGER NOT NULL DEFAULT 0,
  muted INTEGER NOT NULL DEFAULT 0,
  history INTEGER NOT NULL DEFAULT 0,
  updated_at INTEGER
) STRICT, WITHOUT ROWID;

-- Names that alerts of an organization had, with the severity of the last one: what the filter of alerts offers.
CREATE TABLE alert_names (
  organization_id BLOB NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  alertname TEXT NOT NULL,
  severity TEXT,
  seen_at INTEGER NOT NULL,
  PRIMARY KEY (organization_id, alertname)
) STRICT, WITHOUT ROWID;
CREATE INDEX alert_names_seen ON alert_names (seen_at);

-- What people do about alerts (spec: alert-management#handling), each known by its organization and fingerprint.
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

-- Who an organization wants to be told of alerts (spec: alert-configuration#layers). Bot tokens and addresses of webhooks in
-- it are sealed.
CREATE TABLE alert_layers (
  organization_id BLOB PRIMARY KEY NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  layer TEXT NOT NULL CHECK (json_valid(layer)),
  -- NULL: the service itself.
  updated_by_user_id BLOB,
  updated_by_name TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Tenants of a remote alert router: which wait for their configuration to be pushed
-- (spec: alert-configuration#provisioning). A row outlives its organization until the router has been told, so it refers to none.
CREATE TABLE alert_tenants (
  organization_id BLOB PRIMARY KEY NOT NULL,
  -- Raised by everything that changes what the router is to have: whoever pushes sees whether that was the latest.
  wanted INTEGER NOT NULL,
  -- The organization is destroyed: the router's configuration is to be deleted.
  is_gone INTEGER NOT NULL CHECK (is_gone IN (0, 1)),
  attempts INTEGER NOT NULL,
  -- Since when a configuration has waited to be pushed, however often that was tried.
  queued_at INTEGER,
  -- NULL: the router has what it is to have.
  next_attempt_at INTEGER,
  claimed_until INTEGER,
  -- Why the last try failed, in fixed words.
  problem TEXT,
  pushed_at INTEGER,
  -- Keyed digest of the configuration that the router has. NULL: it is uploaded whatever it is.
  pushed_digest BLOB,
  -- When the router's configuration was last looked at.
  checked_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX alert_tenants_due ON alert_tenants (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
CREATE INDEX alert_tenants_checked ON alert_tenants (checked_at) WHERE next_attempt_at IS NULL AND is_gone = FALSE;

-- Pushes to a remote router for tenants it does not run yet (spec: alerts#waiting-tenants).
CREATE TABLE alert_queue (
  organization_id BLOB NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  fingerprint TEXT NOT NULL,
  -- Whose the alert is: each system has a share of the queue.
  system_key TEXT NOT NULL DEFAULT '',
  payload TEXT NOT NULL CHECK (json_valid(payload)),
  attempts INTEGER NOT NULL DEFAULT 0,
  next_attempt_at INTEGER NOT NULL,
  queued_at INTEGER NOT NULL,
  claimed_until INTEGER,
  PRIMARY KEY (organization_id, fingerprint)
) STRICT;
CREATE INDEX alert_queue_due ON alert_queue (next_attempt_at);
CREATE INDEX alert_queue_system ON alert_queue (organization_id, system_key);
CREATE INDEX alert_queue_queued ON alert_queue (queued_at);
-- Without the fingerprint, with which it would be three times as large: so less is read of rows that are gone, until the
-- server has cleared them away.
CREATE INDEX alert_queue_tenant ON alert_queue (organization_id, next_attempt_at);

-- LinkFailed alerts that are raised, apart from the system's row: it may move or vanish before they are resolved.
CREATE TABLE link_alerts (
  system_id BLOB NOT NULL,
  organization_id BLOB NOT NULL,
  system_key TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  refreshed_at INTEGER NOT NULL,
  PRIMARY KEY (system_id, organization_id)
) STRICT, WITHOUT ROWID;
