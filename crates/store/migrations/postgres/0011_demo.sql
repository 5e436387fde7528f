-- What `bailiwick demo` has made (docs/deployment.md#demo-data).

-- Without a row here the database is no demo.
CREATE TABLE demo_loads (
  seed bigint PRIMARY KEY NOT NULL,
  -- How many it has made.
  systems bigint NOT NULL,
  made_at timestamptz NOT NULL,
  -- Up to when the systems have sent what they send. NULL: they stand still.
  lived_until timestamptz
);

CREATE TABLE demo_organizations (
  organization_id uuid PRIMARY KEY NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  seed bigint NOT NULL
);

CREATE TABLE demo_systems (
  system_id uuid PRIMARY KEY NOT NULL REFERENCES systems (id) ON DELETE CASCADE,
  seed bigint NOT NULL,
  -- From 0 on, in the order of creation.
  number bigint NOT NULL,
  -- It sends nothing any more.
  is_silent boolean NOT NULL,
  next_document_at timestamptz
);
CREATE UNIQUE INDEX demo_systems_number ON demo_systems (seed, number);
