-- What happened, for other software (docs/events.md).

-- Where a change writes its events, in its own transaction: no number yet, no key to wait for. Moved to `events` a
-- moment later by whoever holds the row of event_position.
CREATE TABLE event_outbox (
  id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
  at INTEGER NOT NULL,
  type TEXT NOT NULL,
  -- Unset: that of the system.
  organization_id BLOB,
  object_id TEXT NOT NULL,
  subject TEXT,
  system_id BLOB,
  -- Where the writer knows a system by this only.
  system_key TEXT,
  user_id BLOB,
  data TEXT NOT NULL CHECK (json_valid(data))
) STRICT;

-- Numbered in the order of commits: numbers are given while the one row of event_position is held, so no reader who has
-- seen a number ever finds a smaller one later.
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

-- last: the newest number given; purged: the newest one that retention has removed.
CREATE TABLE event_position (
  id INTEGER PRIMARY KEY NOT NULL CHECK (id = 1),
  last INTEGER NOT NULL,
  purged INTEGER NOT NULL
) STRICT;
INSERT INTO event_position (id, last, purged) VALUES (1, 0, 0);
