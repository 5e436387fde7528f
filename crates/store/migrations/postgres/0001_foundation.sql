-- The organization tree (docs/tree.md). p2, p3: the ancestor-or-self at level 2 and 3 or, where there is none, the
-- nearest organization above; so the scope of every caller is one equality. Own marks are the truth; the eff_ columns
-- repeat the nearest acting mark and are rewritten by whatever moves a mark or the tree.
CREATE TABLE organizations (
  id uuid PRIMARY KEY NOT NULL,
  type text COLLATE "C" NOT NULL CHECK (type IN ('owner', 'distributor', 'reseller', 'customer')),
  parent_id uuid REFERENCES organizations (id),
  p2 uuid NOT NULL,
  p3 uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  name_key text COLLATE "C" NOT NULL,
  description text COLLATE "C" NOT NULL DEFAULT '',
  description_key text COLLATE "C" NOT NULL DEFAULT '',
  vat text COLLATE "C",
  vat_key text COLLATE "C",
  custom_data jsonb NOT NULL,
  search_key text COLLATE "C" NOT NULL,
  created_by jsonb,
  creator_user_id uuid,
  creator_org_id uuid,
  creator_key text COLLATE "C",
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  updated_by_org_id uuid,
  promoted_from jsonb,
  suspended_at timestamptz,
  deleted_at timestamptz,
  eff_suspended_at timestamptz,
  eff_suspended_by uuid,
  eff_deleted_at timestamptz,
  eff_deleted_by uuid,
  UNIQUE (id, p2, p3),
  CHECK ((type = 'owner') = (parent_id IS NULL))
);
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
  organization_id uuid PRIMARY KEY NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  systems bigint NOT NULL DEFAULT 0,
  users bigint NOT NULL DEFAULT 0
);

CREATE TABLE users (
  id uuid PRIMARY KEY NOT NULL,
  organization_id uuid NOT NULL,
  p2 uuid NOT NULL,
  p3 uuid NOT NULL,
  username text COLLATE "C" NOT NULL,
  username_key text COLLATE "C" NOT NULL,
  email text COLLATE "C" NOT NULL,
  email_key text COLLATE "C" NOT NULL,
  email_verified boolean NOT NULL DEFAULT false,
  name text COLLATE "C" NOT NULL,
  name_key text COLLATE "C" NOT NULL,
  phone text COLLATE "C",
  role_ids jsonb NOT NULL,
  custom_data jsonb,
  search_key text COLLATE "C" NOT NULL,
  password_hash text COLLATE "C",
  -- Set when the password was generated and must be replaced at the first sign-in (contract 01 §2.8).
  password_generated_at timestamptz,
  created_by jsonb,
  creator_user_id uuid,
  creator_org_id uuid,
  creator_key text COLLATE "C",
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  latest_login_at timestamptz,
  suspended_at timestamptz,
  deleted_at timestamptz,
  FOREIGN KEY (organization_id, p2, p3) REFERENCES organizations (id, p2, p3) ON UPDATE CASCADE
);
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
  id uuid PRIMARY KEY NOT NULL,
  organization_id uuid NOT NULL,
  p2 uuid NOT NULL,
  p3 uuid NOT NULL,
  name text COLLATE "C" NOT NULL,
  name_key text COLLATE "C" NOT NULL,
  type text COLLATE "C",
  type_key text COLLATE "C" NOT NULL DEFAULT '',
  fqdn text COLLATE "C" NOT NULL DEFAULT '',
  fqdn_key text COLLATE "C" NOT NULL DEFAULT '',
  ipv4_address text COLLATE "C" NOT NULL DEFAULT '',
  ipv6_address text COLLATE "C" NOT NULL DEFAULT '',
  version text COLLATE "C" NOT NULL DEFAULT '',
  custom_data jsonb NOT NULL,
  notes text COLLATE "C" NOT NULL DEFAULT '',
  search_key text COLLATE "C" NOT NULL,
  system_key text COLLATE "C" NOT NULL,
  secret_public text COLLATE "C" NOT NULL,
  -- hex(salt) ':' hex(SHA-256(salt || secret part))
  secret_hash text COLLATE "C" NOT NULL,
  created_by jsonb NOT NULL,
  creator_user_id uuid,
  creator_org_id uuid,
  creator_key text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  registered_at timestamptz,
  registered_from text COLLATE "C",
  -- First authenticated call after the registration: from then on a repeated registration is a conflict.
  authenticated_at timestamptz,
  -- Set once: NULL = never heard of. The newest heartbeat is in system_activity.
  first_heartbeat_at timestamptz,
  suspended_at timestamptz,
  deleted_at timestamptz,
  FOREIGN KEY (organization_id, p2, p3) REFERENCES organizations (id, p2, p3) ON UPDATE CASCADE
);
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
  system_id uuid PRIMARY KEY NOT NULL REFERENCES systems (id) ON DELETE CASCADE,
  last_heartbeat timestamptz,
  last_inventory timestamptz,
  latest_inventory_id bigint
) WITH (fillfactor = 50);

-- Accepted documents that wait for the worker. Compressed; durable before the 202.
CREATE TABLE inventory_queue (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  system_id uuid NOT NULL REFERENCES systems (id) ON DELETE CASCADE,
  received_at timestamptz NOT NULL,
  data_hash text COLLATE "C" NOT NULL,
  data_size bigint NOT NULL,
  body bytea NOT NULL,
  attempts bigint NOT NULL DEFAULT 0,
  next_at timestamptz NOT NULL,
  claimed_until timestamptz,
  error text COLLATE "C",
  quarantined_at timestamptz
);
CREATE INDEX inventory_queue_system ON inventory_queue (system_id, id);
CREATE INDEX inventory_queue_due ON inventory_queue (id) WHERE quarantined_at IS NULL;

CREATE TABLE inventory_records (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  system_id uuid NOT NULL REFERENCES systems (id) ON DELETE CASCADE,
  timestamp timestamptz NOT NULL,
  body bytea NOT NULL,
  data_hash text COLLATE "C" NOT NULL,
  data_size bigint NOT NULL,
  processed_at timestamptz,
  has_changes boolean NOT NULL DEFAULT false,
  change_count bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL
);
CREATE INDEX inventory_records_system ON inventory_records (system_id, id);

-- Raised in the same transaction as anything that can change what a system credential may do.
CREATE TABLE auth_epoch (
  id bigint PRIMARY KEY NOT NULL CHECK (id = 1),
  n bigint NOT NULL
);
INSERT INTO auth_epoch (id, n) VALUES (1, 0);

-- Session chains (contract 01 §2.4): one for each exchange.
CREATE TABLE session_chains (
  id uuid PRIMARY KEY NOT NULL,
  user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  -- The browser login at the embedded provider the chain was exchanged from.
  login_id uuid,
  created_at timestamptz NOT NULL,
  last_used_at timestamptz NOT NULL,
  -- The current refresh token is made again from these two, byte by byte.
  refresh_id uuid NOT NULL,
  refresh_issued_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  revoked_at timestamptz,
  revoked_reason text COLLATE "C"
);
CREATE INDEX session_chains_user ON session_chains (user_id);
CREATE INDEX session_chains_login ON session_chains (login_id);
CREATE INDEX session_chains_expiry ON session_chains (expires_at);

-- Refresh tokens rotated out within the reuse grace.
CREATE TABLE session_rotations (
  refresh_id uuid PRIMARY KEY NOT NULL,
  chain_id uuid NOT NULL REFERENCES session_chains (id) ON DELETE CASCADE,
  rotated_at timestamptz NOT NULL
);
CREATE INDEX session_rotations_chain ON session_rotations (chain_id);

-- Embedded OpenID provider. Keys sealed, every token stored as its SHA-256.
CREATE TABLE oidc_keys (
  kid text COLLATE "C" PRIMARY KEY NOT NULL,
  -- PKCS#8, sealed.
  sealed bytea NOT NULL,
  public_jwk jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  retired_at timestamptz
);
-- A browser that has signed in; what it led to lives as long as it is not ended.
CREATE TABLE oidc_logins (
  id uuid PRIMARY KEY NOT NULL,
  user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  token_hash bytea NOT NULL,
  created_at timestamptz NOT NULL,
  authenticated_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  ended_at timestamptz
);
CREATE UNIQUE INDEX oidc_logins_token_unique ON oidc_logins (token_hash);
CREATE INDEX oidc_logins_user ON oidc_logins (user_id);
CREATE INDEX oidc_logins_expiry ON oidc_logins (expires_at);
-- An authorization request that waits for somebody to sign in.
CREATE TABLE oidc_interactions (
  id uuid PRIMARY KEY NOT NULL,
  browser_hash bytea NOT NULL,
  request jsonb NOT NULL,
  -- Whose password was right.
  user_id uuid REFERENCES users (id) ON DELETE CASCADE,
  must_replace_password boolean NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX oidc_interactions_browser ON oidc_interactions (browser_hash);
CREATE INDEX oidc_interactions_user ON oidc_interactions (user_id);
CREATE INDEX oidc_interactions_expiry ON oidc_interactions (expires_at);
-- A grant is what one authorization code produced; ending it ends all its tokens.
CREATE TABLE oidc_grants (
  id uuid PRIMARY KEY NOT NULL,
  user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  login_id uuid NOT NULL REFERENCES oidc_logins (id) ON DELETE CASCADE,
  client_id text COLLATE "C" NOT NULL,
  scope text COLLATE "C" NOT NULL,
  nonce text COLLATE "C",
  -- Audience of the access tokens when they are for a resource; they are JWTs then.
  resource text COLLATE "C",
  auth_at timestamptz NOT NULL,
  code_hash bytea NOT NULL,
  code_redirect_uri text COLLATE "C" NOT NULL,
  code_challenge text COLLATE "C",
  code_expires_at timestamptz NOT NULL,
  code_used_at timestamptz,
  created_at timestamptz NOT NULL,
  -- When the last token of the grant has expired.
  expires_at timestamptz NOT NULL,
  ended_at timestamptz
);
CREATE UNIQUE INDEX oidc_grants_code_unique ON oidc_grants (code_hash);
CREATE INDEX oidc_grants_user ON oidc_grants (user_id);
CREATE INDEX oidc_grants_login ON oidc_grants (login_id);
CREATE INDEX oidc_grants_expiry ON oidc_grants (expires_at);
CREATE TABLE oidc_tokens (
  token_hash bytea PRIMARY KEY NOT NULL,
  grant_id uuid NOT NULL REFERENCES oidc_grants (id) ON DELETE CASCADE,
  kind text COLLATE "C" NOT NULL CHECK (kind IN ('access', 'refresh')),
  scope text COLLATE "C" NOT NULL,
  -- Kept sealed for the current refresh token only: within the grace a repeat gets the same string.
  sealed bytea,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  rotated_at timestamptz,
  revoked_at timestamptz
);
CREATE INDEX oidc_tokens_grant ON oidc_tokens (grant_id);
CREATE INDEX oidc_tokens_expiry ON oidc_tokens (expires_at);

-- Embedded alert router: per tenant, the payload is the router's own record.
CREATE TABLE router_alerts (
  organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  fingerprint text COLLATE "C" NOT NULL,
  system_key text COLLATE "C" NOT NULL,
  ends_at bigint NOT NULL,
  payload jsonb NOT NULL,
  PRIMARY KEY (organization_id, fingerprint)
);
CREATE INDEX router_alerts_system ON router_alerts (organization_id, system_key, ends_at);
CREATE INDEX router_alerts_end ON router_alerts (ends_at);
CREATE TABLE router_silences (
  organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  id uuid NOT NULL,
  system_key text COLLATE "C" NOT NULL,
  ends_at bigint NOT NULL,
  payload jsonb NOT NULL,
  PRIMARY KEY (organization_id, id)
);
CREATE INDEX router_silences_system ON router_silences (organization_id, system_key, ends_at);
CREATE INDEX router_silences_end ON router_silences (ends_at);
-- One row: when a process last served, and the last time in which none did (contract 04 §5.3).
CREATE TABLE router_life (
  id bigint PRIMARY KEY NOT NULL CHECK (id = 1),
  alive_at timestamptz NOT NULL,
  down_since timestamptz,
  up_since timestamptz
);
-- Pushes to a remote router for tenants it does not run yet (contract 04 §1.13).
CREATE TABLE alert_queue (
  organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  fingerprint text COLLATE "C" NOT NULL,
  payload jsonb NOT NULL,
  attempts bigint NOT NULL DEFAULT 0,
  next_attempt_at timestamptz NOT NULL,
  queued_at timestamptz NOT NULL,
  claimed_until timestamptz,
  PRIMARY KEY (organization_id, fingerprint)
);
CREATE INDEX alert_queue_due ON alert_queue (next_attempt_at);

-- Work for later, done by whoever holds the lease (claimed_until).
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
  created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX jobs_key_unique ON jobs (kind, key) WHERE key IS NOT NULL;
CREATE INDEX jobs_due ON jobs (next_at);

-- Who did what; written in the transaction of the change and never changed.
CREATE TABLE audit_log (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at timestamptz NOT NULL,
  actor_user_id uuid,
  acting_for_user_id uuid,
  actor_organization_id uuid,
  action text COLLATE "C" NOT NULL,
  object_type text COLLATE "C" NOT NULL,
  object_id uuid,
  before jsonb,
  after jsonb,
  request_id text COLLATE "C"
);
CREATE INDEX audit_log_at ON audit_log (at);
CREATE INDEX audit_log_object ON audit_log (object_id, at);
