-- What is known of users and organizations at a Logto tenant (spec: logto).

-- Links of users are in user_identities.
CREATE TABLE logto_users (
  user_id BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  issuer TEXT NOT NULL,
  -- A creation was begun, and nobody knows what came of it.
  creating_at INTEGER,
  -- The name with which that was begun: it is searched for, whatever the name is by then.
  creating_name TEXT,
  synced_at INTEGER,
  sync_error TEXT,
  -- The generated password until the account has it.
  sealed_password TEXT,
  password_generated_at INTEGER,
  PRIMARY KEY (user_id, issuer)
) STRICT, WITHOUT ROWID;

-- Organizations there.
CREATE TABLE logto_organizations (
  organization_id BLOB NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  issuer TEXT NOT NULL,
  -- Its id there; none until it is made.
  provider_id TEXT,
  creating_at INTEGER,
  creating_name TEXT,
  synced_at INTEGER,
  sync_error TEXT,
  PRIMARY KEY (organization_id, issuer)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX logto_organizations_provider_unique ON logto_organizations (issuer, provider_id);

-- What is to be told to the tenant: which object, and what of it. The state is read when it is told.
CREATE TABLE logto_outbox (
  issuer TEXT NOT NULL,
  kind TEXT NOT NULL,
  object_id BLOB NOT NULL,
  -- Of an object that is gone here.
  provider_id TEXT,
  -- The name by which it is searched for, if it was gone here before anybody knew its id there.
  search_name TEXT,
  -- What of the object, as bits.
  aspects INTEGER NOT NULL,
  -- Grows with each change, so that one during a delivery is not forgotten at its end.
  wanted INTEGER NOT NULL,
  -- Smaller ones first, within a batch strictly.
  position INTEGER NOT NULL,
  batch BLOB,
  -- How far a tree has been gone through.
  after_id BLOB,
  attempts INTEGER NOT NULL,
  -- Since when something has waited to be told, however often that was tried.
  queued_at INTEGER,
  -- NULL: refused; waits for the next change.
  next_at INTEGER,
  claimed_until INTEGER,
  problem TEXT,
  PRIMARY KEY (issuer, kind, object_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX logto_outbox_batch ON logto_outbox (batch, position);
CREATE INDEX logto_outbox_due ON logto_outbox (issuer, position, next_at, object_id);
CREATE INDEX logto_outbox_next ON logto_outbox (next_at);
