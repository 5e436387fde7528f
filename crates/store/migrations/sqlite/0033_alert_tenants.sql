-- Tenants of a remote alert router: which wait for their configuration to be pushed (contract 04 §2.4). A row outlives
-- its organization until the router has been told, so it refers to none.
CREATE TABLE alert_tenants (
  organization_id BLOB PRIMARY KEY NOT NULL,
  -- Raised by everything that changes what the router is to have: whoever pushes sees whether that was the latest.
  wanted INTEGER NOT NULL,
  -- The organization is destroyed: the router's configuration is to be deleted.
  is_gone INTEGER NOT NULL CHECK (is_gone IN (0, 1)),
  attempts INTEGER NOT NULL,
  -- NULL: the router has what it is to have.
  next_attempt_at INTEGER,
  claimed_until INTEGER,
  -- Why the last try failed, in fixed words.
  problem TEXT,
  pushed_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX alert_tenants_due ON alert_tenants (next_attempt_at) WHERE next_attempt_at IS NOT NULL;
