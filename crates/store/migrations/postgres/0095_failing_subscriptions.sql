-- Subscriptions to which nothing arrives, or that the service has switched off: few among all.
CREATE INDEX event_subscriptions_failing ON event_subscriptions (id)
  WHERE failing_since IS NOT NULL OR disabled_reason IS NOT NULL;
