-- Events for other software (docs/events.md).

-- Where a change writes its events, in its own transaction: no number yet, no key to wait for. Moved to `events` a moment
-- later by whoever holds the row of event_position.
CREATE TABLE event_outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL,
  type text COLLATE "C" NOT NULL,
  -- NULL: that of the system.
  organization_id uuid,
  object_id text COLLATE "C" NOT NULL,
  subject text COLLATE "C",
  system_id uuid,
  -- Where the writer knows a system by this only.
  system_key text COLLATE "C",
  user_id uuid,
  data jsonb NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Numbered in the order of commits: numbers are given while the one row of event_position is held, so no reader who has seen
-- a number ever finds a smaller one later.
CREATE TABLE events (
  seq bigint PRIMARY KEY NOT NULL,
  id uuid NOT NULL,
  at timestamptz NOT NULL,
  type text COLLATE "C" NOT NULL,
  organization_id uuid NOT NULL,
  p2 uuid NOT NULL,
  p3 uuid NOT NULL,
  object_id text COLLATE "C" NOT NULL,
  subject text COLLATE "C",
  system_id uuid,
  user_id uuid,
  data jsonb NOT NULL,
  FOREIGN KEY (organization_id, p2, p3) REFERENCES organizations (id, p2, p3) ON UPDATE CASCADE ON DELETE CASCADE
);
CREATE UNIQUE INDEX events_id_unique ON events (id);
CREATE INDEX events_p2_seq ON events (p2, seq);
CREATE INDEX events_p3_seq ON events (p3, seq);
CREATE INDEX events_org_seq ON events (organization_id, seq);
-- Where in the order of events a time begins.
CREATE INDEX events_at ON events (at, seq);

-- last: the newest number given; purged: the newest one that retention has removed.
CREATE TABLE event_position (
  id bigint PRIMARY KEY NOT NULL CHECK (id = 1),
  last bigint NOT NULL,
  purged bigint NOT NULL
);
INSERT INTO event_position (id, last, purged) VALUES (1, 0, 0);

-- The newest event of an organization that retention by number has removed: each organization has a share of all events
-- that are kept (docs/internals/events.md).
CREATE TABLE event_removals (
  organization_id uuid PRIMARY KEY NOT NULL,
  p2 uuid NOT NULL,
  p3 uuid NOT NULL,
  up_to bigint NOT NULL,
  FOREIGN KEY (organization_id, p2, p3) REFERENCES organizations (id, p2, p3) ON UPDATE CASCADE ON DELETE CASCADE
);
CREATE INDEX event_removals_up_to ON event_removals (up_to);
CREATE INDEX event_removals_p2 ON event_removals (p2, up_to);
CREATE INDEX event_removals_p3 ON event_removals (p3, up_to);

-- Who is told of events by webhook, and what has become of it.
CREATE TABLE event_subscriptions (
  id uuid PRIMARY KEY NOT NULL,
  organization_id uuid NOT NULL,
  p2 uuid NOT NULL,
  p3 uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  -- Sealed, as the secrets: it may contain one.
  url bytea NOT NULL,
  -- Whose people have named the address: when the organization leaves theirs, the address is told no more. NULL: named
  -- by nobody of an organization, or while impersonating.
  named_by_org_id uuid,
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
CREATE INDEX event_subscriptions_due ON event_subscriptions (next_at, id);
-- Subscriptions to which nothing arrives, or that the service has switched off: few among all.
CREATE INDEX event_subscriptions_failing ON event_subscriptions (id)
  WHERE failing_since IS NOT NULL OR disabled_reason IS NOT NULL;

-- What is told to a subscription, and how that went.
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
-- The first deliveries that are due, however many wait behind them. With "+ 0" no other index has this order
-- (store::sql::by_index).
CREATE INDEX event_deliveries_pending ON event_deliveries (subscription_id, (event_seq + 0)) WHERE state = 'pending';
CREATE INDEX event_deliveries_dead ON event_deliveries (subscription_id, (event_seq + 0)) WHERE state = 'dead';
CREATE INDEX event_deliveries_next ON event_deliveries (next_at) WHERE state = 'pending';
