-- Each queue has an index in whose order it is claimed, and no other index has that order: a statement that gives it is
-- run in one way only, whatever the server believes of the table (store::sql::by_index).

-- What waits has not been put aside: those come in the order of ids; those put aside by the time of that.
CREATE INDEX inventory_queue_order ON inventory_queue (quarantined_at, id);
DROP INDEX inventory_queue_due;
DROP INDEX inventory_queue_quarantined;
CREATE INDEX inventory_queue_next ON inventory_queue (next_at);

DROP INDEX jobs_due;
DROP INDEX jobs_ended;
CREATE INDEX jobs_due ON jobs (kind, next_at, id) WHERE ended_at IS NULL;
CREATE INDEX jobs_ended ON jobs (ended_at, next_at);

CREATE INDEX alert_queue_tenant ON alert_queue (organization_id, next_attempt_at, fingerprint);
CREATE INDEX alert_queue_queued ON alert_queue (queued_at);

-- Since when a configuration has waited to be pushed, however often that was tried.
ALTER TABLE alert_tenants ADD COLUMN queued_at timestamptz;
UPDATE alert_tenants SET queued_at = next_attempt_at;
-- A push tells what the router has as well as a question does.
UPDATE alert_tenants SET checked_at = pushed_at
  WHERE pushed_at IS NOT NULL AND (checked_at IS NULL OR checked_at < pushed_at);
CREATE INDEX alert_tenants_checked ON alert_tenants (checked_at) WHERE next_attempt_at IS NULL AND is_gone = FALSE;

DROP INDEX event_deliveries_pending;
DROP INDEX event_deliveries_dead;
CREATE INDEX event_deliveries_pending ON event_deliveries (subscription_id, (event_seq + 0)) WHERE state = 'pending';
CREATE INDEX event_deliveries_dead ON event_deliveries (subscription_id, (event_seq + 0)) WHERE state = 'dead';
CREATE INDEX event_deliveries_next ON event_deliveries (next_at) WHERE state = 'pending';
CREATE INDEX event_subscriptions_due ON event_subscriptions (next_at, id);

DROP INDEX logto_outbox_due;
CREATE INDEX logto_outbox_due ON logto_outbox (issuer, position, next_at, object_id);
CREATE INDEX logto_outbox_next ON logto_outbox (next_at);

-- Rows come and go: the room of those gone is cleared before much of it has gathered.
ALTER TABLE jobs SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
ALTER TABLE alert_queue SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
ALTER TABLE event_outbox SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
ALTER TABLE logto_outbox SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
ALTER TABLE router_groups SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
ALTER TABLE leases SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
