-- Alert history (contract 04 §3): one row for each occurrence of an alert. Written by whoever holds the tenant
-- (store::history::hold), so figures and rows agree. p2 and p3 are those of the organization, for scopes (docs/tree.md).
CREATE TABLE alert_history (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  organization_id uuid NOT NULL,
  p2 uuid NOT NULL,
  p3 uuid NOT NULL,
  system_key text COLLATE "C" NOT NULL,
  alertname text COLLATE "C" NOT NULL,
  severity text COLLATE "C",
  status text COLLATE "C" NOT NULL CHECK (status IN ('firing', 'resolved')),
  fingerprint text COLLATE "C" NOT NULL,
  starts_at timestamptz NOT NULL,
  ends_at timestamptz,
  -- When a row that fires ends by itself. In no index: a refresh, the most frequent change, moves nothing but this.
  expires_at timestamptz,
  summary text COLLATE "C",
  labels jsonb NOT NULL,
  annotations jsonb NOT NULL,
  receiver text COLLATE "C",
  -- When the row was made; from the resolution on, when that was heard of.
  created_at timestamptz NOT NULL,
  FOREIGN KEY (organization_id, p2, p3) REFERENCES organizations (id, p2, p3) ON UPDATE CASCADE ON DELETE CASCADE
);
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
  organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  day bigint NOT NULL,
  resolved bigint NOT NULL,
  PRIMARY KEY (organization_id, day)
);

-- Figures of each organization. history: resolved rows, kept like the days. The others: what a remote router said when
-- it was asked last (updated_at; NULL: never).
CREATE TABLE alert_totals (
  organization_id uuid PRIMARY KEY NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  active bigint NOT NULL DEFAULT 0,
  critical bigint NOT NULL DEFAULT 0,
  warning bigint NOT NULL DEFAULT 0,
  info bigint NOT NULL DEFAULT 0,
  muted bigint NOT NULL DEFAULT 0,
  history bigint NOT NULL DEFAULT 0,
  updated_at timestamptz
);

-- Names that alerts of an organization had, with the severity of the last one: what the filter of alerts offers.
CREATE TABLE alert_names (
  organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  alertname text COLLATE "C" NOT NULL,
  severity text COLLATE "C",
  seen_at timestamptz NOT NULL,
  PRIMARY KEY (organization_id, alertname)
);
CREATE INDEX alert_names_seen ON alert_names (seen_at);

-- What the embedded router keeps as firing has a row from now on; what had ended already is swept like any other.
INSERT INTO alert_history (organization_id, p2, p3, system_key, alertname, severity, status, fingerprint, starts_at,
  expires_at, summary, labels, annotations, created_at)
SELECT a.organization_id, o.p2, o.p3, a.system_key, COALESCE(a.payload #>> '{labels,alertname}', ''),
  a.payload #>> '{labels,severity}', 'firing', a.fingerprint,
  CASE WHEN a.payload ->> 'starts_at' BETWEEN '1970' AND '9999' THEN CAST(a.payload ->> 'starts_at' AS timestamptz)
    ELSE l.alive_at END,
  timestamptz 'epoch' + LEAST(a.ends_at, 253370764800000000) * interval '1 microsecond',
  COALESCE(NULLIF(a.payload #>> '{annotations,summary}', ''), a.payload #>> '{annotations,summary_en}'),
  a.payload -> 'labels', a.payload -> 'annotations', l.alive_at
FROM router_alerts a JOIN organizations o ON o.id = a.organization_id JOIN router_life l ON l.id = 1
WHERE timestamptz 'epoch' + LEAST(a.ends_at, 253370764800000000) * interval '1 microsecond' >= l.alive_at;
