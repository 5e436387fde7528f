-- Alert history (contract 04 §3): one row for each occurrence of an alert. Written by whoever holds the tenant
-- (store::history::hold), so figures and rows agree. p2 and p3 are those of the organization, for scopes (docs/tree.md).
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

-- Resolved rows by the UTC day of created_at (days since 1970), kept by whoever writes the rows.
CREATE TABLE alert_history_days (
  organization_id BLOB NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  day INTEGER NOT NULL,
  resolved INTEGER NOT NULL,
  PRIMARY KEY (organization_id, day)
) STRICT, WITHOUT ROWID;

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

-- What the embedded router keeps as firing has a row from now on; what had ended already is swept like any other.
INSERT INTO alert_history (organization_id, p2, p3, system_key, alertname, severity, status, fingerprint, starts_at,
  expires_at, summary, labels, annotations, created_at)
SELECT a.organization_id, o.p2, o.p3, a.system_key, COALESCE(json_extract(a.payload, '$.labels.alertname'), ''),
  json_extract(a.payload, '$.labels.severity'), 'firing', a.fingerprint,
  CASE WHEN json_extract(a.payload, '$.starts_at') BETWEEN '1970' AND '9999'
    THEN CAST(ROUND((julianday(json_extract(a.payload, '$.starts_at')) - 2440587.5) * 86400000) AS INTEGER) * 1000
    ELSE l.alive_at END,
  a.ends_at,
  COALESCE(NULLIF(json_extract(a.payload, '$.annotations.summary'), ''), json_extract(a.payload, '$.annotations.summary_en')),
  json_extract(a.payload, '$.labels'), json_extract(a.payload, '$.annotations'), l.alive_at
FROM router_alerts a JOIN organizations o ON o.id = a.organization_id JOIN router_life l ON l.id = 1
WHERE a.ends_at >= l.alive_at;
