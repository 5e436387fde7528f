-- Alerts of deleted systems are not listed: the few keys by which they are recognized.
CREATE INDEX systems_gone_key ON systems (system_key) WHERE deleted_at IS NOT NULL;
