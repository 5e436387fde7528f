-- Whose the alerts are that wait for a remote router: each system has a share of the queue.
ALTER TABLE alert_queue ADD COLUMN system_key text NOT NULL DEFAULT '';
UPDATE alert_queue SET system_key = COALESCE(payload->'labels'->>'system_key', '');
CREATE INDEX alert_queue_system ON alert_queue (organization_id, system_key);
-- When a tenant's configuration at a remote router was last looked at.
ALTER TABLE alert_tenants ADD COLUMN checked_at timestamptz;
