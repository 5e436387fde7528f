-- Who is told of events by webhook (docs/events.md), and what has become of it.
CREATE TABLE event_subscriptions (
  id uuid PRIMARY KEY NOT NULL,
  organization_id uuid NOT NULL,
  p2 uuid NOT NULL,
  p3 uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  -- Sealed, as the secrets: it may contain one.
  url bytea NOT NULL,
  secret bytea NOT NULL,
  -- Signs as well until then.
  previous_secret bytea,
  previous_until timestamptz,
  types jsonb NOT NULL,
  is_enabled boolean NOT NULL,
  disabled_at timestamptz,
  disabled_reason text COLLATE "C",
  -- Since when nothing has been delivered although it was tried, and how many times in a row.
  failing_since timestamptz,
  failures bigint NOT NULL DEFAULT 0,
  last_error text COLLATE "C",
  last_success_at timestamptz,
  -- Nothing is tried before.
  next_at timestamptz NOT NULL,
  -- Which process delivers until when.
  holder uuid,
  held_until timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  FOREIGN KEY (organization_id, p2, p3) REFERENCES organizations (id, p2, p3) ON UPDATE CASCADE ON DELETE CASCADE
);
CREATE INDEX event_subscriptions_org ON event_subscriptions (organization_id, id);
CREATE INDEX event_subscriptions_p2 ON event_subscriptions (p2, id);
CREATE INDEX event_subscriptions_p3 ON event_subscriptions (p3, id);

CREATE TABLE event_deliveries (
  subscription_id uuid NOT NULL REFERENCES event_subscriptions (id) ON DELETE CASCADE,
  event_seq bigint NOT NULL REFERENCES events (seq) ON DELETE CASCADE,
  -- withheld: when its turn had come, the organization could not read it any more.
  state text COLLATE "C" NOT NULL CHECK (state IN ('pending', 'delivered', 'dead', 'withheld')),
  attempts bigint NOT NULL,
  next_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  finished_at timestamptz,
  last_status bigint,
  last_error text COLLATE "C",
  PRIMARY KEY (subscription_id, event_seq)
);
CREATE INDEX event_deliveries_event ON event_deliveries (event_seq);
CREATE INDEX event_deliveries_due ON event_deliveries (subscription_id, next_at) WHERE state = 'pending';
CREATE INDEX event_deliveries_dead ON event_deliveries (subscription_id, event_seq) WHERE state = 'dead';
