-- What `bailiwick demo` has made (docs/deployment.md#demo-data).

-- Without a row here the database is no demo.
CREATE TABLE demo_loads (
  seed INTEGER PRIMARY KEY NOT NULL,
  -- How many it has made.
  systems INTEGER NOT NULL,
  made_at INTEGER NOT NULL,
  -- Up to when the systems have sent what they send. NULL: they stand still.
  lived_until INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE demo_organizations (
  organization_id BLOB PRIMARY KEY NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  seed INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE demo_systems (
  system_id BLOB PRIMARY KEY NOT NULL REFERENCES systems (id) ON DELETE CASCADE,
  seed INTEGER NOT NULL,
  -- From 0 on, in the order of creation.
  number INTEGER NOT NULL,
  -- It sends nothing any more.
  is_silent INTEGER NOT NULL,
  next_document_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX demo_systems_number ON demo_systems (seed, number);
