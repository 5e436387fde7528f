-- What the service itself needs: work, processes, the audit log, and marks of what has changed.

-- Work for later, done by whoever holds the lease (claimed_until).
-- Rows come and go, here and in other queues: the room of those gone is cleared before much of it has gathered.
CREATE TABLE jobs (
  id uuid PRIMARY KEY NOT NULL,
  kind text COLLATE "C" NOT NULL,
  -- At most one waiting job for each (kind, key).
  key text COLLATE "C",
  payload jsonb NOT NULL,
  attempts bigint NOT NULL DEFAULT 0,
  next_at timestamptz NOT NULL,
  claimed_until timestamptz,
  last_error text COLLATE "C",
  -- A job that was given up stays for the operator to see, with last_error, without its secrets.
  ended_at timestamptz,
  created_at timestamptz NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE UNIQUE INDEX jobs_key_unique ON jobs (kind, key) WHERE key IS NOT NULL;
CREATE INDEX jobs_due ON jobs (kind, next_at, id) WHERE ended_at IS NULL;
CREATE INDEX jobs_ended ON jobs (ended_at, next_at);

-- Work that one process does for all of them.
CREATE TABLE leases (
  name text COLLATE "C" PRIMARY KEY NOT NULL,
  holder uuid NOT NULL,
  until timestamptz NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- Which secrets anything may be sealed or signed with, by a fingerprint that is derived from the secret with a label of its
-- own. `resealed_at`: since then nothing that lasts is sealed with it; its tokens live on for a while.
CREATE TABLE secrets (
  fingerprint bytea PRIMARY KEY NOT NULL,
  created_at timestamptz NOT NULL,
  resealed_at timestamptz
);

-- Processes that serve, with what others must know of them; each gives a sign of life now and then.
CREATE TABLE processes (
  id uuid PRIMARY KEY NOT NULL,
  host text COLLATE "C" NOT NULL,
  public_url text COLLATE "C" NOT NULL,
  issuer text COLLATE "C" NOT NULL,
  audience text COLLATE "C" NOT NULL,
  secret bytea NOT NULL,
  previous_secret bytea,
  started_at timestamptz NOT NULL,
  seen_at timestamptz NOT NULL
);

-- Counters of limits that all processes share (docs/internals/limits.md). The key is a keyed digest of what is limited, so
-- the table names nobody. A crash of the server may empty it.
CREATE UNLOGGED TABLE shared_limits (
  key uuid PRIMARY KEY NOT NULL,
  -- Of a rate: how much of the bucket is used, in microseconds. Of failures: how many.
  amount bigint NOT NULL DEFAULT 0,
  -- Of a rate: when the amount was true. Of failures: when the first one was. In microseconds.
  at_micros bigint NOT NULL DEFAULT 0,
  -- Of a rate: how many requests the last statement let pass.
  passed bigint NOT NULL DEFAULT 0,
  -- Of a window: the times that count, eight bytes each.
  events bytea NOT NULL DEFAULT '',
  -- Since when a pair of address and credential is refused.
  refused_at timestamptz,
  purge_at timestamptz NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX shared_limits_purge ON shared_limits (purge_at);
CREATE INDEX shared_limits_refused ON shared_limits (refused_at) WHERE refused_at IS NOT NULL;

-- Who did what; written in the transaction of the change and never changed.
CREATE TABLE audit_log (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL,
  actor_user_id uuid,
  acting_for_user_id uuid,
  actor_organization_id uuid,
  -- The place in the tree of the organization whose rights were used, so that a branch can list what was done in it. A
  -- promotion changes it, as that of systems.
  p2 uuid,
  p3 uuid,
  action text COLLATE "C" NOT NULL,
  object_type text COLLATE "C" NOT NULL,
  object_id uuid,
  before jsonb,
  after jsonb,
  request_id text COLLATE "C"
);
CREATE INDEX audit_log_at ON audit_log (at);
CREATE INDEX audit_log_object ON audit_log (object_id, at);
CREATE INDEX audit_log_action ON audit_log (action, at);
CREATE INDEX audit_log_request ON audit_log (request_id);
-- Each index ends with the order of the list, so that a page reads its own rows alone.
CREATE INDEX audit_log_p2 ON audit_log (p2, at, id);
CREATE INDEX audit_log_p2_action ON audit_log (p2, action, at, id);
CREATE INDEX audit_log_p3 ON audit_log (p3, at, id);
CREATE INDEX audit_log_p3_action ON audit_log (p3, action, at, id);
CREATE INDEX audit_log_organization_action ON audit_log (actor_organization_id, action, at, id);
CREATE INDEX audit_log_organization ON audit_log (actor_organization_id, at, id);
CREATE INDEX audit_log_actor ON audit_log (actor_user_id, at, id);

-- Raised in the same transaction as anything that can change what a system credential may do.
CREATE TABLE auth_epoch (
  id bigint PRIMARY KEY NOT NULL CHECK (id = 1),
  n bigint NOT NULL
);
INSERT INTO auth_epoch (id, n) VALUES (1, 0);

-- The systems that a move of the auth epoch concerns, with the number before it. A move without a row concerns all systems.
CREATE TABLE auth_changes (
  n bigint NOT NULL,
  before bigint NOT NULL,
  system_id uuid NOT NULL,
  PRIMARY KEY (n, system_id)
);

-- Raised in the same transaction as anything that changes what a list can show, so that an answer made from a whole tree is
-- made once for each state of it (docs/internals/answer-cache.md). Each mark is for itself: a sign-in does not renew a list
-- that shows none.
CREATE TABLE list_epochs (
  id bigint PRIMARY KEY NOT NULL CHECK (id = 1),
  -- Organizations and users themselves.
  people bigint NOT NULL,
  -- How much is below an organization.
  figures bigint NOT NULL DEFAULT 0,
  -- When somebody last signed in.
  logins bigint NOT NULL DEFAULT 0,
  -- What a filter of systems looks at, and how many are counted as what.
  systems bigint NOT NULL DEFAULT 0,
  statuses bigint NOT NULL DEFAULT 0,
  -- How many listed applications of a module an organization has, and how many of them are assigned.
  applications bigint NOT NULL DEFAULT 0,
  -- What a search in applications can find.
  application_texts bigint NOT NULL DEFAULT 0
);
INSERT INTO list_epochs (id, people) VALUES (1, 0);

-- Moves when an alert begins or ends, or its assignee changes (docs/internals/answer-cache.md). A row of its own: writers
-- of alerts do not wait for writers of other lists.
CREATE TABLE active_alerts_epoch (
  id bigint PRIMARY KEY NOT NULL CHECK (id = 1),
  n bigint NOT NULL
);
INSERT INTO active_alerts_epoch (id, n) VALUES (1, 0);

-- Raised in the same transaction as anything that changes who is told of an organization's alerts: a saved layer, or another
-- chain of organizations that are not suspended or deleted.
CREATE TABLE alert_config_epoch (
  id bigint PRIMARY KEY NOT NULL CHECK (id = 1),
  n bigint NOT NULL
);
INSERT INTO alert_config_epoch (id, n) VALUES (1, 0);

-- The rule by which stored texts were folded for comparisons. A program with a newer rule folds them again when it starts
-- (docs/internals/storage.md).
CREATE TABLE text_folding (
  id bigint PRIMARY KEY NOT NULL CHECK (id = 1),
  rule bigint NOT NULL
);
INSERT INTO text_folding (id, rule) VALUES (1, 1);

-- The number of the newest migration that a program must know at least to run on this schema (docs/internals/storage.md). A
-- migration that takes away what an older program uses raises it.
CREATE TABLE schema_compatibility (
  id bigint PRIMARY KEY NOT NULL CHECK (id = 1),
  oldest bigint NOT NULL
);
INSERT INTO schema_compatibility (id, oldest) VALUES (1, 13);
