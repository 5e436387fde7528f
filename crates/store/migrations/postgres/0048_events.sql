-- What happened, for other software (docs/events.md).

-- Where a change writes its events, in its own transaction: no number yet, no key to wait for. Moved to `events` a
-- moment later by whoever holds the row of event_position.
CREATE TABLE event_outbox (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL,
  type text COLLATE "C" NOT NULL,
  -- Unset: that of the system.
  organization_id uuid,
  object_id text COLLATE "C" NOT NULL,
  subject text COLLATE "C",
  system_id uuid,
  -- Where the writer knows a system by this only.
  system_key text COLLATE "C",
  user_id uuid,
  data jsonb NOT NULL
);

-- Numbered in the order of commits: numbers are given while the one row of event_position is held, so no reader who has
-- seen a number ever finds a smaller one later.
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

-- last: the newest number given; purged: the newest one that retention has removed.
CREATE TABLE event_position (
  id bigint PRIMARY KEY NOT NULL CHECK (id = 1),
  last bigint NOT NULL,
  purged bigint NOT NULL
);
INSERT INTO event_position (id, last, purged) VALUES (1, 0, 0);
