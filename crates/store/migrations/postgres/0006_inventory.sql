-- The text most records of a system have nearly everything of; each record keeps only what it says otherwise. Written
-- once; goes when no record refers to it any more (no foreign key: the reference is only ever followed from the record).
CREATE TABLE inventory_bases (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  system_id uuid NOT NULL REFERENCES systems (id) ON DELETE CASCADE,
  data_size bigint NOT NULL,
  body bytea NOT NULL
);
-- Compressed already.
ALTER TABLE inventory_bases ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER TABLE inventory_records ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER TABLE inventory_queue ALTER COLUMN body SET STORAGE EXTERNAL;
CREATE INDEX inventory_bases_system ON inventory_bases (system_id);

-- NULL: the body stands for itself.
ALTER TABLE inventory_records ADD COLUMN base_id bigint;

-- The record with the same text, the latest one at receipt: the entry then has no body of its own.
ALTER TABLE inventory_queue ADD COLUMN same_as bigint;
-- Entries come and go; the room of those gone is used again before much of it has gathered.
ALTER TABLE inventory_queue SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000,
  toast.autovacuum_vacuum_scale_factor = 0, toast.autovacuum_vacuum_threshold = 2000);

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
