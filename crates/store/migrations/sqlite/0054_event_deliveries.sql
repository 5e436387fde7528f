-- The first deliveries of a subscription that are due, however many wait behind them.
CREATE INDEX event_deliveries_pending ON event_deliveries (subscription_id, event_seq) WHERE state = 'pending';
-- Where in the order of events a time begins.
CREATE INDEX events_at ON events (at, seq);

-- Whose people have named the address a subscription tells: when its organization leaves theirs, it is told no more.
-- Unset: not known, or named while impersonating.
ALTER TABLE event_subscriptions ADD COLUMN named_by_org_id BLOB;
UPDATE event_subscriptions SET named_by_org_id = (SELECT
  CASE WHEN a.acting_for_user_id IS NULL THEN a.actor_organization_id END FROM audit_log a
  WHERE a.object_type = 'event_subscription' AND a.object_id = event_subscriptions.id
  AND a.action IN ('event_subscription.create', 'event_subscription.update')
  AND json_extract(a.after, '$.url_host') IS NOT NULL ORDER BY a.id DESC LIMIT 1);
