-- Personal API keys (contract 01 §3.5).
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

-- What happened to the keys. Outlives the user, hence no reference to him or to the key.
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

-- Pictures of users (contract 01 §3.4): PNG of at most 256 by 256 pixels.
CREATE TABLE avatars (
  user_id BLOB PRIMARY KEY NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  image BLOB NOT NULL,
  -- Hex of the SHA-256 of the image.
  etag TEXT NOT NULL,
  updated_at INTEGER NOT NULL
) STRICT;

-- The filters of `bailiwick audit`; the newest row first.
CREATE INDEX audit_log_actor ON audit_log (actor_user_id, at);
CREATE INDEX audit_log_organization ON audit_log (actor_organization_id, at);
CREATE INDEX audit_log_action ON audit_log (action, at);
CREATE INDEX audit_log_request ON audit_log (request_id);
