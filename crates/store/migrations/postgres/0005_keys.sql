-- Personal API keys (contract 01 §3.5).
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

-- What happened to the keys. Outlives the user, hence no reference to him or to the key.
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

-- Pictures of users (contract 01 §3.4): PNG of at most 256 by 256 pixels.
CREATE TABLE avatars (
  user_id uuid PRIMARY KEY NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  image bytea NOT NULL,
  -- Hex of the SHA-256 of the image.
  etag text COLLATE "C" NOT NULL,
  updated_at timestamptz NOT NULL
);

-- The filters of `bailiwick audit`; the newest row first.
CREATE INDEX audit_log_actor ON audit_log (actor_user_id, at);
CREATE INDEX audit_log_organization ON audit_log (actor_organization_id, at);
CREATE INDEX audit_log_action ON audit_log (action, at);
CREATE INDEX audit_log_request ON audit_log (request_id);
