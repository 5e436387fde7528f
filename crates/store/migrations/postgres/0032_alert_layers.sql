-- Who an organization wants to be told of alerts (contract 04 §2.3). Bot tokens and addresses of webhooks in it are sealed.
CREATE TABLE alert_layers (
  organization_id uuid PRIMARY KEY NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  layer jsonb NOT NULL,
  -- NULL: the service itself.
  updated_by_user_id uuid,
  updated_by_name text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);

-- Raised in the same transaction as anything that changes who is told of an organization's alerts: a saved layer, or
-- another chain of organizations that are not suspended or deleted.
CREATE TABLE alert_config_epoch (
  id bigint PRIMARY KEY NOT NULL CHECK (id = 1),
  n bigint NOT NULL
);
INSERT INTO alert_config_epoch (id, n) VALUES (1, 0);
