-- Events for other software (docs/events.md).

-- Where a change writes its events, in its own transaction: no number yet, no key to wait for. Moved to `events` a moment
-- later by whoever holds the row of event_position.
CREATE TABLE event_outbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  -- NULL: that of the system.
  organization_id BLOB,
  object_id TEXT NOT NULL,
  subject TEXT,
  system_id BLOB,
  -- Where the writer knows a system by this only.
  system_key TEXT,
  user_id BLOB,
  data TEXT NOT NULL CHECK (json_valid(data))
) STRICT;

-- Numbered in the order of commits: numbers are given while the one row of event_position is held, so no reader who has seen
-- a number ever finds a smaller one later.
CREATE TABLE events (
  seq INTEGER PRIMARY KEY NOT NULL,
  id BLOB NOT NULL,
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  organization_id BLOB NOT NULL,
  p2 BLOB NOT NULL,
  p3 BLOB NOT NULL,
  object_id TEXT NOT NULL,
  subject TEXT,
  system_id BLOB,
  user_id BLOB,
  data TEXT NOT NULL CHECK (json_valid(data)),
  FOREIGN KEY (organization_id, p2, p3) REFERENCES organizations (id, p2, p3) ON UPDATE CASCADE ON DELETE CASCADE
) STRICT;
CREATE UNIQUE INDEX events_id_unique ON events (id);
CREATE INDEX events_p2_seq ON events (p2, seq);
CREATE INDEX events_p3_seq ON events (p3, seq);
CREATE INDEX events_org_seq ON events (organization_id, seq);
-- Where in the order of events a time begins.
CREATE INDEX events_at ON events (at, seq);

-- last: the newest number given; purged: the newest one that retention has removed.
CREATE TABLE event_position (
  id INTEGER PRIMARY KEY NOT NULL CHECK (id = 1),
  last INTEGER NOT NULL,
  purged INTEGER NOT NULL
) STRICT;
INSERT INTO event_position (id, last, purged) VALUES (1, 0, 0);

-- The newest event of an organization that retention by number has removed: each organization has a share of all events
-- that are kept (docs/internals/events.md).
CREATE TABLE event_removals (
  organization_id BLOB PRIMARY KEY NOT NULL,
  p2 BLOB NOT NULL,
  p3 BLOB NOT NULL,
  up_to INTEGER NOT NULL,
  FOREIGN KEY (organization_id, p2, p3) REFERENCES organizations (id, p2, p3) ON UPDATE CASCADE ON DELETE CASCADE
) STRICT;
CREATE INDEX event_removals_up_to ON event_removals (up_to);
CREATE INDEX event_removals_p2 ON event_removals (p2, up_to);
CREATE INDEX event_removals_p3 ON event_removals (p3, up_to);

-- Who is told of events by webhook, and what has become of it.
CREATE TABLE event_subscriptions (
  id BLOB PRIMARY KEY NOT NULL,
  organization_id BLOB NOT NULL,
  p2 BLOB NOT NULL,
  p3 BLOB NOT NULL,
  name TEXT NOT NULL,
  -- Sealed, as the secrets: it may contain one.
  url BLOB NOT NULL,
  -- Whose people have named the address: when the organization leaves theirs, the address is told no more. NULL: named
  -- by nobody of an organization, or while impersonating.
  named_by_org_id BLOB,
  secret BLOB NOT NULL,
  -- Signs as well until then.
  previous_secret BLOB,
  previous_until INTEGER,
  types TEXT NOT NULL CHECK (json_valid(types)),
  is_enabled INTEGER NOT NULL,
  disabled_at INTEGER,
  disabled_reason TEXT,
  -- Since when nothing has been delivered although it was tried, and how many times in a row.
  failing_since INTEGER,
  failures INTEGER NOT NULL DEFAULT 0,
  last_error TEXT,
  last_success_at INTEGER,
  -- Nothing is tried before.
  next_at INTEGER NOT NULL,
  -- Which process delivers until when.
  holder BLOB,
  held_until INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  FOREIGN KEY (organization_id, p2, p3) REFERENCES organizations (id, p2, p3) ON UPDATE CASCADE ON DELETE CASCADE
) STRICT;
CREATE INDEX event_subscriptions_org ON event_subscriptions (organization_id, id);
CREATE INDEX event_subscriptions_p2 ON event_subscriptions (p2, id);
CREATE INDEX event_subscriptions_p3 ON event_subscriptions (p3, id);
CREATE INDEX event_subscriptions_due ON event_subscriptions (next_at, id);
-- Subscriptions to which nothing arrives, or that the service has switched off: few among all.
CREATE INDEX event_subscriptions_failing ON event_subscriptions (id)
  WHERE failing_since IS NOT NULL OR disabled_reason IS NOT NULL;

-- What is told to a subscription, and how that went.
CREATE TABLE event_deliveries (
  subscription_id BLOB NOT NULL REFERENCES event_subscriptions (id) ON DELETE CASCADE,
  event_seq INTEGER NOT NULL REFERENCES events (seq) ON DELETE CASCADE,
  -- withheld: when its turn had come, the organization could not read it any more.
  state TEXT NOT NULL CHECK (state IN ('pending', 'delivered', 'dead', 'withheld')),
  attempts INTEGER NOT NULL,
  next_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  finished_at INTEGER,
  last_status INTEGER,
  last_error TEXT,
  PRIMARY KEY (subscription_id, event_seq)
) STRICT;
CREATE INDEX event_deliveries_event ON event_deliveries (event_seq);
CREATE INDEX event_deliveries_due ON event_deliveries (subscription_id, next_at) WHERE state = 'pending';
-- The first deliveries that are due, however many wait behind them. With "+ 0" no other index has this order
-- (store::sql::by_index).
CREATE INDEX event_deliveries_pending ON event_deliveries (subscription_id, event_seq + 0) WHERE state = 'pending';
CREATE INDEX event_deliveries_dead ON event_deliveries (subscription_id, event_seq + 0) WHERE state = 'dead';
CREATE INDEX event_deliveries_next ON event_deliveries (next_at) WHERE state = 'pending';
