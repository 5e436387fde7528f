-- What is known of users and organizations at a Logto tenant (spec: logto).

-- Links of users are in user_identities.
CREATE TABLE logto_users (
  user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  issuer text COLLATE "C" NOT NULL,
  -- A creation was begun, and nobody knows what came of it.
  creating_at timestamptz,
  -- The name with which that was begun: it is searched for, whatever the name is by then.
  creating_name text COLLATE "C",
  synced_at timestamptz,
  sync_error text COLLATE "C",
  -- The generated password until the account has it.
  sealed_password text COLLATE "C",
  password_generated_at timestamptz,
  PRIMARY KEY (user_id, issuer)
);

-- Organizations there.
CREATE TABLE logto_organizations (
  organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  issuer text COLLATE "C" NOT NULL,
  -- Its id there; none until it is made.
  provider_id text COLLATE "C",
  creating_at timestamptz,
  creating_name text COLLATE "C",
  synced_at timestamptz,
  sync_error text COLLATE "C",
  PRIMARY KEY (organization_id, issuer)
);
CREATE UNIQUE INDEX logto_organizations_provider_unique ON logto_organizations (issuer, provider_id);

-- What is to be told to the tenant: which object, and what of it. The state is read when it is told.
CREATE TABLE logto_outbox (
  issuer text COLLATE "C" NOT NULL,
  kind text COLLATE "C" NOT NULL,
  object_id uuid NOT NULL,
  -- Of an object that is gone here.
  provider_id text COLLATE "C",
  -- The name by which it is searched for, if it was gone here before anybody knew its id there.
  search_name text COLLATE "C",
  -- What of the object, as bits.
  aspects bigint NOT NULL,
  -- Grows with each change, so that one during a delivery is not forgotten at its end.
  wanted bigint NOT NULL,
  -- Smaller ones first, within a batch strictly.
  position bigint NOT NULL,
  batch uuid,
  -- How far a tree has been gone through.
  after_id uuid,
  attempts bigint NOT NULL,
  -- Since when something has waited to be told, however often that was tried.
  queued_at timestamptz,
  -- NULL: refused; waits for the next change.
  next_at timestamptz,
  claimed_until timestamptz,
  problem text COLLATE "C",
  PRIMARY KEY (issuer, kind, object_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX logto_outbox_batch ON logto_outbox (batch, position);
CREATE INDEX logto_outbox_due ON logto_outbox (issuer, position, next_at, object_id);
CREATE INDEX logto_outbox_next ON logto_outbox (next_at);
