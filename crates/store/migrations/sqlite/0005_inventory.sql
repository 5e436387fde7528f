-- Inventory documents of systems: accepted, kept and compared.

-- The text most records of a system have nearly everything of; each record keeps only what it says otherwise. Written
-- once; goes when no record refers to it any more (no foreign key: the reference is only ever followed from the record).
CREATE TABLE inventory_bases (
  id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
  system_id BLOB NOT NULL REFERENCES systems (id) ON DELETE CASCADE,
  data_size INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;
CREATE INDEX inventory_bases_system ON inventory_bases (system_id);

-- What a system has sent, one row for each document.
CREATE TABLE inventory_records (
  id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
  system_id BLOB NOT NULL REFERENCES systems (id) ON DELETE CASCADE,
  timestamp INTEGER NOT NULL,
  body BLOB NOT NULL,
  -- NULL: the body stands for itself.
  base_id INTEGER,
  data_hash TEXT NOT NULL,
  data_size INTEGER NOT NULL,
  processed_at INTEGER,
  has_changes INTEGER NOT NULL DEFAULT 0,
  change_count INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX inventory_records_system ON inventory_records (system_id, id);
CREATE INDEX inventory_records_created ON inventory_records (created_at, id);

-- Accepted documents that wait for the worker. Compressed; durable before the 202.
CREATE TABLE inventory_queue (
  id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
  system_id BLOB NOT NULL REFERENCES systems (id) ON DELETE CASCADE,
  received_at INTEGER NOT NULL,
  data_hash TEXT NOT NULL,
  data_size INTEGER NOT NULL,
  body BLOB NOT NULL,
  -- The record with the same text, the latest one at receipt: the entry then has no body of its own.
  same_as INTEGER,
  attempts INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER NOT NULL,
  claimed_until INTEGER,
  error TEXT,
  quarantined_at INTEGER
) STRICT;
CREATE INDEX inventory_queue_system ON inventory_queue (system_id, id);
-- Each queue has an index in whose order it is claimed, and no other index has that order: a statement that gives it is run
-- in one way only, whatever the server believes of the table (store::sql::by_index). Here what waits comes in the order of
-- ids, and what was put aside in the order of the time of that.
CREATE INDEX inventory_queue_order ON inventory_queue (quarantined_at, id);
CREATE INDEX inventory_queue_next ON inventory_queue (next_at);

-- What the comparison of two records found. Kept for ever; a record that is thinned out leaves an empty reference.
CREATE TABLE inventory_diffs (
  id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
  system_id BLOB NOT NULL REFERENCES systems (id) ON DELETE CASCADE,
  previous_id INTEGER REFERENCES inventory_records (id) ON DELETE SET NULL,
  current_id INTEGER REFERENCES inventory_records (id) ON DELETE SET NULL,
  -- The record's timestamp when this was made.
  record_at INTEGER NOT NULL,
  -- 0 delete, 1 update, 2 create
  kind INTEGER NOT NULL,
  -- 0 critical, 1 high, 2 medium, 3 low
  severity INTEGER NOT NULL,
  category TEXT NOT NULL,
  field_path TEXT NOT NULL,
  -- JSON texts; the absent side is NULL.
  previous_value TEXT,
  current_value TEXT,
  -- What a search looks at, where folding changes it: path, previous and current value, parted by U+001F.
  folded TEXT,
  notification_sent INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX inventory_diffs_system ON inventory_diffs (system_id, created_at, id);
CREATE INDEX inventory_diffs_previous ON inventory_diffs (previous_id);
CREATE INDEX inventory_diffs_current ON inventory_diffs (current_id);

-- One for each record whose highest severity is critical.
CREATE TABLE inventory_alerts (
  id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
  system_id BLOB NOT NULL REFERENCES systems (id) ON DELETE CASCADE,
  -- Its first critical diff and the record that one belongs to.
  diff_id INTEGER NOT NULL,
  record_id INTEGER NOT NULL,
  alert_type TEXT NOT NULL,
  message TEXT NOT NULL,
  severity TEXT NOT NULL,
  -- The element: when a later record creates it again, the alert is over.
  structural_path TEXT NOT NULL,
  field_path TEXT NOT NULL,
  resolved_at INTEGER,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX inventory_alerts_system ON inventory_alerts (system_id, created_at) WHERE resolved_at IS NULL;
CREATE INDEX inventory_alerts_open ON inventory_alerts (created_at) WHERE resolved_at IS NULL;
CREATE INDEX inventory_alerts_resolved ON inventory_alerts (resolved_at) WHERE resolved_at IS NOT NULL;

-- How far the hourly run of retention has come (spec: inventory#retention); one row.
CREATE TABLE retention (
  id INTEGER PRIMARY KEY NOT NULL CHECK (id = 1),
  -- Not before; NULL: never run.
  next_at INTEGER,
  -- Records were thinned as of that time; from then on only what has grown too old since needs a look.
  thinned_to INTEGER
) STRICT;
INSERT INTO retention (id) VALUES (1);
