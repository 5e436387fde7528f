-- Who an organization wants to be told of alerts (contract 04 §2.3). Bot tokens and addresses of webhooks in it are sealed.
CREATE TABLE alert_layers (
  organization_id BLOB PRIMARY KEY NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  layer TEXT NOT NULL CHECK (json_valid(layer)),
  -- NULL: the service itself.
  updated_by_user_id BLOB,
  updated_by_name TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Raised in the same transaction as anything that changes who is told of an organization's alerts: a saved layer, or
-- another chain of organizations that are not suspended or deleted.
CREATE TABLE alert_config_epoch (
  id INTEGER PRIMARY KEY NOT NULL CHECK (id = 1),
  n INTEGER NOT NULL
) STRICT;
INSERT INTO alert_config_epoch (id, n) VALUES (1, 0);
