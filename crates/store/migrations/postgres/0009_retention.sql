-- What is kept for how long (contract 03 §10).

-- How far the hourly run has come; one row.
CREATE TABLE retention (
  id bigint PRIMARY KEY NOT NULL CHECK (id = 1),
  -- Not before; NULL: never run.
  next_at timestamptz,
  -- Records were thinned as of that time; from then on only what has grown too old since needs a look.
  thinned_to timestamptz
);
INSERT INTO retention (id) VALUES (1);

CREATE INDEX inventory_records_created ON inventory_records (created_at, id);
CREATE INDEX inventory_alerts_open ON inventory_alerts (created_at) WHERE resolved_at IS NULL;
CREATE INDEX inventory_alerts_resolved ON inventory_alerts (resolved_at) WHERE resolved_at IS NOT NULL;
CREATE INDEX inventory_queue_quarantined ON inventory_queue (quarantined_at) WHERE quarantined_at IS NOT NULL;
