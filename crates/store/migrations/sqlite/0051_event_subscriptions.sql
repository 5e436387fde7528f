-- Who is told of events by webhook (docs/events.md), and what has become of it.
CREATE TABLE event_subscriptions (
  id BLOB PRIMARY KEY NOT NULL,
  organization_id BLOB NOT NULL,
  p2 BLOB NOT NULL,
  p3 BLOB NOT NULL,
  name TEXT NOT NULL,
  -- Sealed, as the secrets: it may contain one.
  url BLOB NOT NULL,
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
CREATE INDEX event_deliveries_dead ON event_deliveries (subscription_id, event_seq) WHERE state = 'dead';
