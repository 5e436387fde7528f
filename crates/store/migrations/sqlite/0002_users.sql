-- Users, and what belongs to one of them.

-- p2, p3: those of the organization, for scopes. A change of the tree changes them here by the foreign key.
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
  -- Set when the password was generated and must be replaced at the first sign-in (spec: openid-provider#generated-passwords).
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
  -- The address before one that the user has set themselves and not confirmed: links for a new password go there.
  previous_email TEXT,
  previous_email_key TEXT,
  -- Folded address that the present generated password was mailed to.
  password_mailed_to TEXT,
  FOREIGN KEY (organization_id, p2, p3) REFERENCES organizations (id, p2, p3) ON UPDATE CASCADE
) STRICT;
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
  user_id BLOB PRIMARY KEY NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  -- Hex of the SHA-256 of the image.
  etag TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  -- An image may be kept in a bucket (assets.images). Then the row names the object and its size, and has no bytes itself. A
  -- key is used for one object and never again.
  object_key TEXT CHECK (object_key IS NULL OR length(image) = 0),
  object_size INTEGER CHECK ((object_size IS NULL) = (object_key IS NULL)),
  image BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX avatars_object ON avatars (object_key) WHERE object_key IS NOT NULL;

-- Which account of an external identity provider is which user (spec: authentication#identity-modes).
CREATE TABLE user_identities (
  issuer TEXT NOT NULL,
  subject TEXT NOT NULL,
  user_id BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  linked_at INTEGER NOT NULL,
  PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX user_identities_user_unique ON user_identities (user_id, issuer);

-- Links sent by mail, their token as its SHA-256. Used ones stay until they expire: they count against the limit.
CREATE TABLE mail_links (
  token_hash BLOB PRIMARY KEY NOT NULL,
  purpose TEXT NOT NULL CHECK (purpose IN ('password', 'address')),
  user_id BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  -- Where it was sent.
  address TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT;
CREATE INDEX mail_links_user ON mail_links (user_id, purpose, created_at);
CREATE INDEX mail_links_expiry ON mail_links (expires_at);

-- A CSV file that was checked and waits to be confirmed (spec: imports-and-exports#imports); used once, for 30 minutes.
CREATE TABLE import_sessions (
  id BLOB PRIMARY KEY NOT NULL,
  user_id BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  family TEXT NOT NULL CHECK (family IN ('distributors', 'resellers', 'customers', 'users')),
  -- The file as it came, compressed with zstd, and its size before.
  content BLOB NOT NULL,
  size INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX import_sessions_user ON import_sessions (user_id, created_at, id);
CREATE INDEX import_sessions_created ON import_sessions (created_at);

-- Personal API keys (spec: account#api-keys).
CREATE TABLE api_keys (
  id BLOB PRIMARY KEY NOT NULL,
  user_id BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  key_public TEXT NOT NULL,
  -- hex(salt) ':' hex(SHA-256(salt || secret part))
  secret_hash TEXT NOT NULL,
  mode TEXT NOT NULL CHECK (mode IN ('read', 'write')),
  expires_at INTEGER NOT NULL,
  last_used_at INTEGER,
  last_used_ip TEXT,
  revoked_at INTEGER,
  created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX api_keys_public_unique ON api_keys (key_public);
CREATE INDEX api_keys_user ON api_keys (user_id, created_at, id);

-- What happened to the keys. A row outlives the user, hence no reference to him or to the key.
CREATE TABLE api_key_events (
  id BLOB PRIMARY KEY NOT NULL,
  api_key_id BLOB NOT NULL,
  user_id BLOB NOT NULL,
  organization_id BLOB NOT NULL,
  event TEXT NOT NULL CHECK (event IN ('created', 'revoked', 'auth_failed', 'rate_limited')),
  -- '' unless the event is auth_failed.
  reason TEXT NOT NULL CHECK (reason IN ('', 'revoked', 'expired', 'user_inactive', 'invalid_secret')),
  -- Minutes since the epoch of a refusal: one row for each key, reason and minute, however many requests come.
  minute INTEGER,
  key_name TEXT NOT NULL,
  key_mode TEXT NOT NULL,
  ip TEXT NOT NULL,
  method TEXT NOT NULL,
  path TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX api_key_events_minute_unique ON api_key_events (api_key_id, minute, event, reason);
CREATE INDEX api_key_events_user ON api_key_events (user_id, created_at, id);
-- Refusals by age, for retention.
CREATE INDEX api_key_events_refusals ON api_key_events (created_at) WHERE minute IS NOT NULL;
