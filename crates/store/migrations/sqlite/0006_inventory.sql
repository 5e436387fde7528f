-- The text most records of a system have nearly everything of; each record keeps only what it says otherwise. Written
-- once; goes when no record refers to it any more (no foreign key: the reference is only ever followed from the record).
CREATE TABLE inventory_bases (
  id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
  system_id BLOB NOT NULL REFERENCES systems (id) ON DELETE CASCADE,
  data_size INTEGER NOT NULL,
  body BLOB NOT NULL
) STRICT;
CREATE INDEX inventory_bases_system ON inventory_bases (system_id);

-- NULL: the body stands for itself.
ALTER TABLE inventory_records ADD COLUMN base_id INTEGER;

-- The record with the same text, the latest one at receipt: the entry then has no body of its own.
ALTER TABLE inventory_queue ADD COLUMN same_as INTEGER;

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
