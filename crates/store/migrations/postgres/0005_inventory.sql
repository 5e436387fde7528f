-- Inventory documents of systems: accepted, kept and compared.

-- The text most records of a system have nearly everything of; each record keeps only what it says otherwise. Written
-- once; goes when no record refers to it any more (no foreign key: the reference is only ever followed from the record).
CREATE TABLE inventory_bases (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  system_id uuid NOT NULL REFERENCES systems (id) ON DELETE CASCADE,
  data_size bigint NOT NULL,
  body bytea NOT NULL
);
-- It is compressed already.
ALTER TABLE inventory_bases ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE INDEX inventory_bases_system ON inventory_bases (system_id);

-- What a system has sent, one row for each document.
CREATE TABLE inventory_records (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  system_id uuid NOT NULL REFERENCES systems (id) ON DELETE CASCADE,
  timestamp timestamptz NOT NULL,
  body bytea NOT NULL,
  -- NULL: the body stands for itself.
  base_id bigint,
  data_hash text COLLATE "C" NOT NULL,
  data_size bigint NOT NULL,
  processed_at timestamptz,
  has_changes boolean NOT NULL DEFAULT false,
  change_count bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
ALTER TABLE inventory_records ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE INDEX inventory_records_system ON inventory_records (system_id, id);
CREATE INDEX inventory_records_created ON inventory_records (created_at, id);

-- Accepted documents that wait for the worker. Compressed; durable before the 202.
-- Entries come and go: the room of those gone is used again before much of it has gathered.
CREATE TABLE inventory_queue (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  system_id uuid NOT NULL REFERENCES systems (id) ON DELETE CASCADE,
  received_at timestamptz NOT NULL,
  data_hash text COLLATE "C" NOT NULL,
  data_size bigint NOT NULL,
  body bytea NOT NULL,
  -- The record with the same text, the latest one at receipt: the entry then has no body of its own.
  same_as bigint,
  attempts bigint NOT NULL DEFAULT 0,
  next_at timestamptz NOT NULL,
  claimed_until timestamptz,
  error text COLLATE "C",
  quarantined_at timestamptz
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
  toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 2000);
ALTER TABLE inventory_queue ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE INDEX inventory_queue_system ON inventory_queue (system_id, id);
-- Each queue has an index in whose order it is claimed, and no other index has that order: a statement that gives it is run
-- in one way only, whatever the server believes of the table (store::sql::by_index). Here what waits comes in the order of
-- ids, and what was put aside in the order of the time of that.
CREATE INDEX inventory_queue_order ON inventory_queue (quarantined_at, id);
CREATE INDEX inventory_queue_next ON inventory_queue (next_at);

-- What the comparison of two records found. Kept for ever; a record that is thinned out leaves an empty reference.
CREATE TABLE inventory_diffs (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  system_id uuid NOT NULL REFERENCES systems (id) ON DELETE CASCADE,
  previous_id bigint REFERENCES inventory_records (id) ON DELETE SET NULL,
  current_id bigint REFERENCES inventory_records (id) ON DELETE SET NULL,
  -- The record's timestamp when this was made.
  record_at timestamptz NOT NULL,
  -- 0 delete, 1 update, 2 create
  kind bigint NOT NULL,
  -- 0 critical, 1 high, 2 medium, 3 low
  severity bigint NOT NULL,
  category text COLLATE "C" NOT NULL,
  field_path text COLLATE "C" NOT NULL,
  -- JSON texts; the absent side is NULL.
  previous_value text COLLATE "C",
  current_value text COLLATE "C",
  -- What a search looks at, where folding changes it: path, previous and current value, parted by U+001F.
  folded text COLLATE "C",
  notification_sent boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL
);
CREATE INDEX inventory_diffs_system ON inventory_diffs (system_id, created_at, id);
CREATE INDEX inventory_diffs_previous ON inventory_diffs (previous_id);
CREATE INDEX inventory_diffs_current ON inventory_diffs (current_id);

-- One for each record whose highest severity is critical.
CREATE TABLE inventory_alerts (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  system_id uuid NOT NULL REFERENCES systems (id) ON DELETE CASCADE,
  -- Its first critical diff and the record that one belongs to.
  diff_id bigint NOT NULL,
  record_id bigint NOT NULL,
  alert_type text COLLATE "C" NOT NULL,
  message text COLLATE "C" NOT NULL,
  severity text COLLATE "C" NOT NULL,
  -- The element: when a later record creates it again, the alert is over.
  structural_path text COLLATE "C" NOT NULL,
  field_path text COLLATE "C" NOT NULL,
  resolved_at timestamptz,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE INDEX inventory_alerts_system ON inventory_alerts (system_id, created_at) WHERE resolved_at IS NULL;
CREATE INDEX inventory_alerts_open ON inventory_alerts (created_at) WHERE resolved_at IS NULL;
CREATE INDEX inventory_alerts_resolved ON inventory_alerts (resolved_at) WHERE resolved_at IS NOT NULL;

-- How far the hourly run of retention has come (spec: inventory#retention); one row.
CREATE TABLE retention (
  id bigint PRIMARY KEY NOT NULL CHECK (id = 1),
  -- Not before; NULL: never run.
  next_at timestamptz,
  -- Records were thinned as of that time; from then on only what has grown too old since needs a look.
  thinned_to timestamptz
);
INSERT INTO retention (id) VALUES (1);
