-- Users, and what belongs to one of them.

-- p2, p3: those of the organization, for scopes. A change of the tree changes them here by the foreign key.
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
  -- Set when the password was generated and must be replaced at the first sign-in (spec: openid-provider#generated-passwords).
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
  -- The address before one that the user has set themselves and not confirmed: links for a new password go there.
  previous_email text COLLATE "C",
  previous_email_key text COLLATE "C",
  -- Folded address that the present generated password was mailed to.
  password_mailed_to text COLLATE "C",
  FOREIGN KEY (organization_id, p2, p3) REFERENCES organizations (id, p2, p3) ON UPDATE CASCADE
);
CREATE UNIQUE INDEX users_username_unique ON users (username_key);
CREATE UNIQUE INDEX users_email_unique ON users (email_key) WHERE deleted_at IS NULL;
CREATE INDEX users_creator_user ON users (creator_user_id);
CREATE INDEX users_creator_org ON users (creator_org_id);
-- The orders of the users of one organization.
CREATE INDEX users_org_created ON users (organization_id, created_at, id) WHERE deleted_at IS NULL;
CREATE INDEX users_org_name ON users (organization_id, name_key, id) WHERE deleted_at IS NULL;
CREATE INDEX users_org_email ON users (organization_id, email_key, id) WHERE deleted_at IS NULL;
CREATE INDEX users_organization ON users (organization_id, p2, p3);
CREATE INDEX users_org_username ON users (organization_id, username_key, id) WHERE deleted_at IS NULL;
CREATE INDEX users_org_updated ON users (organization_id, updated_at, id) WHERE deleted_at IS NULL;
CREATE INDEX users_org_login ON users (organization_id, latest_login_at, id) WHERE deleted_at IS NULL;
CREATE INDEX users_org_creator ON users (organization_id, creator_key, id) WHERE deleted_at IS NULL;
CREATE INDEX users_suspended ON users (p2, p3, organization_id, id) WHERE deleted_at IS NULL AND suspended_at IS NOT NULL;
-- Orders by the organization and by the suspension walk users by id.
CREATE INDEX users_p2_id ON users (p2, id) WHERE deleted_at IS NULL;
CREATE INDEX users_p3_id ON users (p3, id) WHERE deleted_at IS NULL;
CREATE INDEX users_org_id ON users (organization_id, id) WHERE deleted_at IS NULL;
CREATE INDEX users_previous_email ON users (previous_email_key) WHERE previous_email_key IS NOT NULL;
-- An import tells of addresses that only deleted users have.
CREATE INDEX users_deleted_email ON users (email_key) WHERE deleted_at IS NOT NULL;
-- The orders of larger scopes, with the organization, so that what a page passes over is read from the index alone: the few
-- deleted organizations are known beforehand.
CREATE INDEX users_all_created ON users (created_at, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX users_all_name ON users (name_key, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX users_all_email ON users (email_key, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX users_all_username ON users (username_key, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX users_all_updated ON users (updated_at, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX users_all_login ON users (latest_login_at, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX users_all_creator ON users (creator_key, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX users_p2_created ON users (p2, created_at, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX users_p2_name ON users (p2, name_key, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX users_p2_email ON users (p2, email_key, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX users_p2_username ON users (p2, username_key, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX users_p2_updated ON users (p2, updated_at, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX users_p2_login ON users (p2, latest_login_at, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX users_p2_creator ON users (p2, creator_key, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX users_p3_created ON users (p3, created_at, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX users_p3_name ON users (p3, name_key, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX users_p3_email ON users (p3, email_key, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX users_p3_username ON users (p3, username_key, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX users_p3_updated ON users (p3, updated_at, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX users_p3_login ON users (p3, latest_login_at, id, organization_id) WHERE deleted_at IS NULL;
CREATE INDEX users_p3_creator ON users (p3, creator_key, id, organization_id) WHERE deleted_at IS NULL;
-- People share the number of a switchboard. Where an identity provider needs a number for each person, the use case looks
-- for it.
CREATE INDEX users_phone ON users (phone) WHERE deleted_at IS NULL AND phone IS NOT NULL;

-- Pictures of users (spec: account#avatars): PNG of at most 256 by 256 pixels.
CREATE TABLE avatars (
  user_id uuid PRIMARY KEY NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  -- Hex of the SHA-256 of the image.
  etag text COLLATE "C" NOT NULL,
  updated_at timestamptz NOT NULL,
  -- An image may be kept in a bucket (assets.images). Then the row names the object and its size, and has no bytes itself. A
  -- key is used for one object and never again.
  object_key text COLLATE "C" CHECK (object_key IS NULL OR octet_length(image) = 0),
  object_size bigint CHECK ((object_size IS NULL) = (object_key IS NULL)),
  image bytea NOT NULL
);
CREATE UNIQUE INDEX avatars_object ON avatars (object_key) WHERE object_key IS NOT NULL;

-- Which account of an external identity provider is which user (spec: authentication#identity-modes).
CREATE TABLE user_identities (
  issuer text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  linked_at timestamptz NOT NULL,
  PRIMARY KEY (issuer, subject)
);
CREATE UNIQUE INDEX user_identities_user_unique ON user_identities (user_id, issuer);

-- Links sent by mail, their token as its SHA-256. Used ones stay until they expire: they count against the limit.
CREATE TABLE mail_links (
  token_hash bytea PRIMARY KEY NOT NULL,
  purpose text COLLATE "C" NOT NULL CHECK (purpose IN ('password', 'address')),
  user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  -- Where it was sent.
  address text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  ended_at timestamptz
);
CREATE INDEX mail_links_user ON mail_links (user_id, purpose, created_at);
CREATE INDEX mail_links_expiry ON mail_links (expires_at);

-- A CSV file that was checked and waits to be confirmed (spec: imports-and-exports#imports); used once, for 30 minutes.
CREATE TABLE import_sessions (
  id uuid PRIMARY KEY NOT NULL,
  user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  family text COLLATE "C" NOT NULL CHECK (family IN ('distributors', 'resellers', 'customers', 'users')),
  -- The file as it came, compressed with zstd, and its size before.
  content bytea NOT NULL,
  size bigint NOT NULL,
  created_at timestamptz NOT NULL
);
CREATE INDEX import_sessions_user ON import_sessions (user_id, created_at, id);
CREATE INDEX import_sessions_created ON import_sessions (created_at);

-- Personal API keys (spec: account#api-keys).
CREATE TABLE api_keys (
  id uuid PRIMARY KEY NOT NULL,
  user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  name text COLLATE "C" NOT NULL,
  key_public text COLLATE "C" NOT NULL,
  -- hex(salt) ':' hex(SHA-256(salt || secret part))
  secret_hash text COLLATE "C" NOT NULL,
  mode text COLLATE "C" NOT NULL CHECK (mode IN ('read', 'write')),
  expires_at timestamptz NOT NULL,
  last_used_at timestamptz,
  last_used_ip text COLLATE "C",
  revoked_at timestamptz,
  created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX api_keys_public_unique ON api_keys (key_public);
CREATE INDEX api_keys_user ON api_keys (user_id, created_at, id);

-- What happened to the keys. A row outlives the user, hence no reference to him or to the key.
CREATE TABLE api_key_events (
  id uuid PRIMARY KEY NOT NULL,
  api_key_id uuid NOT NULL,
  user_id uuid NOT NULL,
  organization_id uuid NOT NULL,
  event text COLLATE "C" NOT NULL CHECK (event IN ('created', 'revoked', 'auth_failed', 'rate_limited')),
  -- '' unless the event is auth_failed.
  reason text COLLATE "C" NOT NULL CHECK (reason IN ('', 'revoked', 'expired', 'user_inactive', 'invalid_secret')),
  -- Minutes since the epoch of a refusal: one row for each key, reason and minute, however many requests come.
  minute bigint,
  key_name text COLLATE "C" NOT NULL,
  key_mode text COLLATE "C" NOT NULL,
  ip text COLLATE "C" NOT NULL,
  method text COLLATE "C" NOT NULL,
  path text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX api_key_events_minute_unique ON api_key_events (api_key_id, minute, event, reason);
CREATE INDEX api_key_events_user ON api_key_events (user_id, created_at, id);
-- Refusals by age, for retention.
CREATE INDEX api_key_events_refusals ON api_key_events (created_at) WHERE minute IS NOT NULL;
