-- The organization tree (docs/tree.md). p2, p3: the ancestor-or-self at level 2 and 3 or, where there is none, the
-- nearest organization above; so the scope of every caller is one equality. Own marks are the truth; the eff_ columns
-- repeat the nearest acting mark and are rewritten by whatever moves a mark or the tree.
CREATE TABLE organizations (
  id BLOB PRIMARY KEY NOT NULL,
  type TEXT NOT NULL CHECK (type IN ('owner', 'distributor', 'reseller', 'customer')),
  parent_id BLOB REFERENCES organizations (id),
  p2 BLOB NOT NULL,
  p3 BLOB NOT NULL,
  name TEXT NOT NULL,
  name_key TEXT NOT NULL,
  description TEXT NOT NULL DEFAULT '',
  description_key TEXT NOT NULL DEFAULT '',
  vat TEXT,
  vat_key TEXT,
  custom_data TEXT NOT NULL CHECK (json_valid(custom_data)),
  search_key TEXT NOT NULL,
  created_by TEXT CHECK (json_valid(created_by)),
  creator_user_id BLOB,
  creator_org_id BLOB,
  creator_key TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  updated_by_org_id BLOB,
  promoted_from TEXT CHECK (json_valid(promoted_from)),
  suspended_at INTEGER,
  deleted_at INTEGER,
  eff_suspended_at INTEGER,
  eff_suspended_by BLOB,
  eff_deleted_at INTEGER,
  eff_deleted_by BLOB,
  UNIQUE (id, p2, p3),
  CHECK ((type = 'owner') = (parent_id IS NULL))
) STRICT;
CREATE UNIQUE INDEX organizations_one_owner ON organizations (type) WHERE type = 'owner';
CREATE UNIQUE INDEX organizations_distributor_vat_unique ON organizations (vat_key) WHERE type = 'distributor' AND deleted_at IS NULL;
CREATE UNIQUE INDEX organizations_reseller_vat_unique ON organizations (vat_key) WHERE type = 'reseller' AND deleted_at IS NULL;
CREATE INDEX organizations_parent ON organizations (parent_id);
CREATE INDEX organizations_vat ON organizations (vat_key);
CREATE INDEX organizations_creator_user ON organizations (creator_user_id);
CREATE INDEX organizations_creator_org ON organizations (creator_org_id);
CREATE INDEX organizations_type_created ON organizations (type, created_at, id);
CREATE INDEX organizations_type_name ON organizations (type, name_key, id);
CREATE INDEX organizations_name ON organizations (name_key, id);
CREATE INDEX organizations_p2_any_name ON organizations (p2, name_key, id);
CREATE INDEX organizations_p3_any_name ON organizations (p3, name_key, id);
CREATE INDEX organizations_p2_created ON organizations (p2, type, created_at, id);
CREATE INDEX organizations_p2_name ON organizations (p2, type, name_key, id);
CREATE INDEX organizations_p3_created ON organizations (p3, type, created_at, id);
CREATE INDEX organizations_p3_name ON organizations (p3, type, name_key, id);
-- Counting what lives in a scope reads one of these and never the wide row.
CREATE INDEX organizations_live_type ON organizations (type, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_live_p2 ON organizations (p2, type, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_live_p3 ON organizations (p3, type, id) WHERE eff_deleted_at IS NULL;
CREATE INDEX organizations_gone ON organizations (type, id) WHERE eff_deleted_at IS NOT NULL;

-- Rows not deleted on their own, kept by the statements that insert, delete, restore or move them: the unfiltered
-- total of a list is a sum over organizations instead of a count of rows.
CREATE TABLE organization_counts (
  organization_id BLOB PRIMARY KEY NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  systems INTEGER NOT NULL DEFAULT 0,
  users INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE users (
  id BLOB PRIMARY KEY NOT NULL,
  organization_id BLOB NOT NULL,
  p2 BLOB NOT NULL,
  p3 BLOB NOT NULL,
  username TEXT NOT NULL,
  username_key TEXT NOT NULL,
  email TEXT NOT NULL,
  email_key TEXT NOT NULL,
  email_verified INTEGER NOT NULL DEFAULT 0,
  name TEXT NOT NULL,
  name_key TEXT NOT NULL,
  phone TEXT,
  role_ids TEXT NOT NULL CHECK (json_valid(role_ids)),
  custom_data TEXT CHECK (json_valid(custom_data)),
  search_key TEXT NOT NULL,
  password_hash TEXT,
  -- Set when the password was generated and must be replaced at the first sign-in (contract 01 §2.8).
  password_generated_at INTEGER,
  created_by TEXT CHECK (json_valid(created_by)),
  creator_user_id BLOB,
  creator_org_id BLOB,
  creator_key TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  latest_login_at INTEGER,
  suspended_at INTEGER,
  deleted_at INTEGER,
  FOREIGN KEY (organization_id, p2, p3) REFERENCES organizations (id, p2, p3) ON UPDATE CASCADE
) STRICT;
CREATE UNIQUE INDEX users_username_unique ON users (username_key);
CREATE UNIQUE INDEX users_email_unique ON users (email_key) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX users_phone_unique ON users (phone) WHERE deleted_at IS NULL AND phone IS NOT NULL;
CREATE INDEX users_creator_user ON users (creator_user_id);
CREATE INDEX users_creator_org ON users (creator_org_id);
CREATE INDEX users_all_created ON users (created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX users_all_name ON users (name_key, id) WHERE deleted_at IS NULL;
CREATE INDEX users_all_email ON users (email_key, id) WHERE deleted_at IS NULL;
CREATE INDEX users_p2_created ON users (p2, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX users_p2_name ON users (p2, name_key, id) WHERE deleted_at IS NULL;
CREATE INDEX users_p2_email ON users (p2, email_key, id) WHERE deleted_at IS NULL;
CREATE INDEX users_p3_created ON users (p3, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX users_p3_name ON users (p3, name_key, id) WHERE deleted_at IS NULL;
CREATE INDEX users_p3_email ON users (p3, email_key, id) WHERE deleted_at IS NULL;
CREATE INDEX users_org_created ON users (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX users_org_name ON users (organization_id, name_key, id) WHERE deleted_at IS NULL;
CREATE INDEX users_org_email ON users (organization_id, email_key, id) WHERE deleted_at IS NULL;
CREATE INDEX users_organization ON users (organization_id, p2, p3);

CREATE TABLE systems (
  id BLOB PRIMARY KEY NOT NULL,
  organization_id BLOB NOT NULL,
  p2 BLOB NOT NULL,
  p3 BLOB NOT NULL,
  name TEXT NOT NULL,
  name_key TEXT NOT NULL,
  type TEXT,
  type_key TEXT NOT NULL DEFAULT '',
  fqdn TEXT NOT NULL DEFAULT '',
  fqdn_key TEXT NOT NULL DEFAULT '',
  ipv4_address TEXT NOT NULL DEFAULT '',
  ipv6_address TEXT NOT NULL DEFAULT '',
  version TEXT NOT NULL DEFAULT '',
  custom_data TEXT NOT NULL CHECK (json_valid(custom_data)),
  notes TEXT NOT NULL DEFAULT '',
  search_key TEXT NOT NULL,
  system_key TEXT NOT NULL,
  secret_public TEXT NOT NULL,
  -- hex(salt) ':' hex(SHA-256(salt || secret part))
  secret_hash TEXT NOT NULL,
  created_by TEXT NOT NULL CHECK (json_valid(created_by)),
  creator_user_id BLOB,
  creator_org_id BLOB,
  creator_key TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  registered_at INTEGER,
  registered_from TEXT,
  -- First authenticated call after the registration: from then on a repeated registration is a conflict.
  authenticated_at INTEGER,
  -- Set once: NULL = never heard of. The newest heartbeat is in system_activity.
  first_heartbeat_at INTEGER,
  suspended_at INTEGER,
  deleted_at INTEGER,
  FOREIGN KEY (organization_id, p2, p3) REFERENCES organizations (id, p2, p3) ON UPDATE CASCADE
) STRICT;
CREATE UNIQUE INDEX systems_key_unique ON systems (system_key);
CREATE UNIQUE INDEX systems_secret_unique ON systems (secret_public);
CREATE INDEX systems_creator_user ON systems (creator_user_id);
CREATE INDEX systems_creator_org ON systems (creator_org_id);
-- Every scope column with every sort column of the row itself: any first page is an index range. Keys are unique, so
-- they need no id behind them, and the order of all of them is that of systems_key_unique.
CREATE INDEX systems_all_name ON systems (name_key, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_all_type ON systems (type_key, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_all_fqdn ON systems (fqdn_key, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_all_version ON systems (version, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_all_created ON systems (created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_all_updated ON systems (updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_all_creator ON systems (creator_key, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p2_name ON systems (p2, name_key, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p2_type ON systems (p2, type_key, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p2_fqdn ON systems (p2, fqdn_key, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p2_version ON systems (p2, version, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p2_key ON systems (p2, system_key) WHERE deleted_at IS NULL;
CREATE INDEX systems_p2_created ON systems (p2, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p2_updated ON systems (p2, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p2_creator ON systems (p2, creator_key, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p3_name ON systems (p3, name_key, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p3_type ON systems (p3, type_key, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p3_fqdn ON systems (p3, fqdn_key, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p3_version ON systems (p3, version, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p3_key ON systems (p3, system_key) WHERE deleted_at IS NULL;
CREATE INDEX systems_p3_created ON systems (p3, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p3_updated ON systems (p3, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p3_creator ON systems (p3, creator_key, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_org_name ON systems (organization_id, name_key, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_org_type ON systems (organization_id, type_key, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_org_fqdn ON systems (organization_id, fqdn_key, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_org_version ON systems (organization_id, version, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_org_key ON systems (organization_id, system_key) WHERE deleted_at IS NULL;
CREATE INDEX systems_org_created ON systems (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_org_updated ON systems (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_org_creator ON systems (organization_id, creator_key, id) WHERE deleted_at IS NULL;
-- Orders by computed values walk a scope by id (status; the two rare ones by indexes of their own), or organizations
-- by name and each one's systems by id.
CREATE INDEX systems_p2_id ON systems (p2, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_p3_id ON systems (p3, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_org_id ON systems (organization_id, id) WHERE deleted_at IS NULL;
CREATE INDEX systems_all_unheard ON systems (id) WHERE deleted_at IS NULL AND first_heartbeat_at IS NULL;
CREATE INDEX systems_p2_unheard ON systems (p2, id) WHERE deleted_at IS NULL AND first_heartbeat_at IS NULL;
CREATE INDEX systems_p3_unheard ON systems (p3, id) WHERE deleted_at IS NULL AND first_heartbeat_at IS NULL;
CREATE INDEX systems_org_unheard ON systems (organization_id, id) WHERE deleted_at IS NULL AND first_heartbeat_at IS NULL;
CREATE INDEX systems_all_suspended ON systems (id) WHERE deleted_at IS NULL AND suspended_at IS NOT NULL;
CREATE INDEX systems_p2_suspended ON systems (p2, id) WHERE deleted_at IS NULL AND suspended_at IS NOT NULL;
CREATE INDEX systems_p3_suspended ON systems (p3, id) WHERE deleted_at IS NULL AND suspended_at IS NOT NULL;
CREATE INDEX systems_org_suspended ON systems (organization_id, id) WHERE deleted_at IS NULL AND suspended_at IS NOT NULL;
CREATE INDEX systems_organization ON systems (organization_id, p2, p3);

-- What moves often about a system, apart from its wide and much indexed row.
CREATE TABLE system_activity (
  system_id BLOB PRIMARY KEY NOT NULL REFERENCES systems (id) ON DELETE CASCADE,
  last_heartbeat INTEGER,
  last_inventory INTEGER,
  latest_inventory_id INTEGER
) STRICT, WITHOUT ROWID;

-- Accepted documents that wait for the worker. Compressed; durable before the 202.
CREATE TABLE inventory_queue (
  id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
  system_id BLOB NOT NULL REFERENCES systems (id) ON DELETE CASCADE,
  received_at INTEGER NOT NULL,
  data_hash TEXT NOT NULL,
  data_size INTEGER NOT NULL,
  body BLOB NOT NULL,
  attempts INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER NOT NULL,
  claimed_until INTEGER,
  error TEXT,
  quarantined_at INTEGER
) STRICT;
CREATE INDEX inventory_queue_system ON inventory_queue (system_id, id);
CREATE INDEX inventory_queue_due ON inventory_queue (id) WHERE quarantined_at IS NULL;

CREATE TABLE inventory_records (
  id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
  system_id BLOB NOT NULL REFERENCES systems (id) ON DELETE CASCADE,
  timestamp INTEGER NOT NULL,
  body BLOB NOT NULL,
  data_hash TEXT NOT NULL,
  data_size INTEGER NOT NULL,
  processed_at INTEGER,
  has_changes INTEGER NOT NULL DEFAULT 0,
  change_count INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX inventory_records_system ON inventory_records (system_id, id);

-- Raised in the same transaction as anything that can change what a system credential may do.
CREATE TABLE auth_epoch (
  id INTEGER PRIMARY KEY NOT NULL CHECK (id = 1),
  n INTEGER NOT NULL
) STRICT;
INSERT INTO auth_epoch (id, n) VALUES (1, 0);

-- Session chains (contract 01 §2.4): one for each exchange.
CREATE TABLE session_chains (
  id BLOB PRIMARY KEY NOT NULL,
  user_id BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  -- The browser login at the embedded provider the chain was exchanged from.
  login_id BLOB,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL,
  -- The current refresh token is made again from these two, byte by byte.
  refresh_id BLOB NOT NULL,
  refresh_issued_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  revoked_at INTEGER,
  revoked_reason TEXT
) STRICT;
CREATE INDEX session_chains_user ON session_chains (user_id);
CREATE INDEX session_chains_login ON session_chains (login_id);
CREATE INDEX session_chains_expiry ON session_chains (expires_at);

-- Refresh tokens rotated out within the reuse grace.
CREATE TABLE session_rotations (
  refresh_id BLOB PRIMARY KEY NOT NULL,
  chain_id BLOB NOT NULL REFERENCES session_chains (id) ON DELETE CASCADE,
  rotated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX session_rotations_chain ON session_rotations (chain_id);

-- Embedded OpenID provider. Keys sealed, every token stored as its SHA-256.
CREATE TABLE oidc_keys (
  kid TEXT PRIMARY KEY NOT NULL,
  -- PKCS#8, sealed.
  sealed BLOB NOT NULL,
  public_jwk TEXT NOT NULL CHECK (json_valid(public_jwk)),
  created_at INTEGER NOT NULL,
  retired_at INTEGER
) STRICT;
-- A browser that has signed in; what it led to lives as long as it is not ended.
CREATE TABLE oidc_logins (
  id BLOB PRIMARY KEY NOT NULL,
  user_id BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  token_hash BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  authenticated_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT;
CREATE UNIQUE INDEX oidc_logins_token_unique ON oidc_logins (token_hash);
CREATE INDEX oidc_logins_user ON oidc_logins (user_id);
CREATE INDEX oidc_logins_expiry ON oidc_logins (expires_at);
-- An authorization request that waits for somebody to sign in.
CREATE TABLE oidc_interactions (
  id BLOB PRIMARY KEY NOT NULL,
  browser_hash BLOB NOT NULL,
  request TEXT NOT NULL CHECK (json_valid(request)),
  -- Whose password was right.
  user_id BLOB REFERENCES users (id) ON DELETE CASCADE,
  must_replace_password INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX oidc_interactions_browser ON oidc_interactions (browser_hash);
CREATE INDEX oidc_interactions_user ON oidc_interactions (user_id);
CREATE INDEX oidc_interactions_expiry ON oidc_interactions (expires_at);
-- A grant is what one authorization code produced; ending it ends all its tokens.
CREATE TABLE oidc_grants (
  id BLOB PRIMARY KEY NOT NULL,
  user_id BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  login_id BLOB NOT NULL REFERENCES oidc_logins (id) ON DELETE CASCADE,
  client_id TEXT NOT NULL,
  scope TEXT NOT NULL,
  nonce TEXT,
  -- Audience of the access tokens when they are for a resource; they are JWTs then.
  resource TEXT,
  auth_at INTEGER NOT NULL,
  code_hash BLOB NOT NULL,
  code_redirect_uri TEXT NOT NULL,
  code_challenge TEXT,
  code_expires_at INTEGER NOT NULL,
  code_used_at INTEGER,
  created_at INTEGER NOT NULL,
  -- When the last token of the grant has expired.
  expires_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT;
CREATE UNIQUE INDEX oidc_grants_code_unique ON oidc_grants (code_hash);
CREATE INDEX oidc_grants_user ON oidc_grants (user_id);
CREATE INDEX oidc_grants_login ON oidc_grants (login_id);
CREATE INDEX oidc_grants_expiry ON oidc_grants (expires_at);
CREATE TABLE oidc_tokens (
  token_hash BLOB PRIMARY KEY NOT NULL,
  grant_id BLOB NOT NULL REFERENCES oidc_grants (id) ON DELETE CASCADE,
  kind TEXT NOT NULL CHECK (kind IN ('access', 'refresh')),
  scope TEXT NOT NULL,
  -- Kept sealed for the current refresh token only: within the grace a repeat gets the same string.
  sealed BLOB,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  rotated_at INTEGER,
  revoked_at INTEGER
) STRICT;
CREATE INDEX oidc_tokens_grant ON oidc_tokens (grant_id);
CREATE INDEX oidc_tokens_expiry ON oidc_tokens (expires_at);

-- Embedded alert router: per tenant, the payload is the router's own record.
CREATE TABLE router_alerts (
  organization_id BLOB NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  fingerprint TEXT NOT NULL,
  system_key TEXT NOT NULL,
  ends_at INTEGER NOT NULL,
  payload TEXT NOT NULL CHECK (json_valid(payload)),
  PRIMARY KEY (organization_id, fingerprint)
) STRICT;
CREATE INDEX router_alerts_system ON router_alerts (organization_id, system_key, ends_at);
CREATE INDEX router_alerts_end ON router_alerts (ends_at);
CREATE TABLE router_silences (
  organization_id BLOB NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  id BLOB NOT NULL,
  system_key TEXT NOT NULL,
  ends_at INTEGER NOT NULL,
  payload TEXT NOT NULL CHECK (json_valid(payload)),
  PRIMARY KEY (organization_id, id)
) STRICT;
CREATE INDEX router_silences_system ON router_silences (organization_id, system_key, ends_at);
CREATE INDEX router_silences_end ON router_silences (ends_at);
-- One row: when a process last served, and the last time in which none did (contract 04 §5.3).
CREATE TABLE router_life (
  id INTEGER PRIMARY KEY NOT NULL CHECK (id = 1),
  alive_at INTEGER NOT NULL,
  down_since INTEGER,
  up_since INTEGER
) STRICT;
-- Pushes to a remote router for tenants it does not run yet (contract 04 §1.13).
CREATE TABLE alert_queue (
  organization_id BLOB NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  fingerprint TEXT NOT NULL,
  payload TEXT NOT NULL CHECK (json_valid(payload)),
  attempts INTEGER NOT NULL DEFAULT 0,
  next_attempt_at INTEGER NOT NULL,
  queued_at INTEGER NOT NULL,
  claimed_until INTEGER,
  PRIMARY KEY (organization_id, fingerprint)
) STRICT;
CREATE INDEX alert_queue_due ON alert_queue (next_attempt_at);

-- Work for later, done by whoever holds the lease (claimed_until).
CREATE TABLE jobs (
  id BLOB PRIMARY KEY NOT NULL,
  kind TEXT NOT NULL,
  -- At most one waiting job for each (kind, key).
  key TEXT,
  payload TEXT NOT NULL CHECK (json_valid(payload)),
  attempts INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER NOT NULL,
  claimed_until INTEGER,
  last_error TEXT,
  created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX jobs_key_unique ON jobs (kind, key) WHERE key IS NOT NULL;
CREATE INDEX jobs_due ON jobs (next_at);

-- Who did what; written in the transaction of the change and never changed.
CREATE TABLE audit_log (
  id INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
  at INTEGER NOT NULL,
  actor_user_id BLOB,
  acting_for_user_id BLOB,
  actor_organization_id BLOB,
  action TEXT NOT NULL,
  object_type TEXT NOT NULL,
  object_id BLOB,
  before TEXT CHECK (json_valid(before)),
  after TEXT CHECK (json_valid(after)),
  request_id TEXT
) STRICT;
CREATE INDEX audit_log_at ON audit_log (at);
CREATE INDEX audit_log_object ON audit_log (object_id, at);
