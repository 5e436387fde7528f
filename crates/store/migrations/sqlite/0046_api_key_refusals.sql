-- Refusals by age, for retention.
CREATE INDEX api_key_events_refusals ON api_key_events (created_at) WHERE minute IS NOT NULL;
