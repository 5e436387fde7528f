-- Keyed digest of the configuration that a remote alert router has. NULL: it is uploaded whatever it is.
ALTER TABLE alert_tenants ADD COLUMN pushed_digest bytea;
