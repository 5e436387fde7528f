-- The router reads and writes its records whole; as text they are neither taken apart nor put together again here.
ALTER TABLE router_alerts ALTER COLUMN payload TYPE text USING CAST(payload AS text);
ALTER TABLE router_silences ALTER COLUMN payload TYPE text USING CAST(payload AS text);
