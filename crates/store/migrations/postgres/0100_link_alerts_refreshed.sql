-- Alerts of silent systems that must be posted again are a range, so that a check does not read the others.
CREATE INDEX link_alerts_refreshed ON link_alerts (refreshed_at, system_id, organization_id);
