-- Sessions, the embedded OpenID provider, second factors and impersonation.

-- Session chains (spec: authentication#session-chains): one for each exchange.
CREATE TABLE session_chains (
  id BLOB PRIMARY KEY NOT NULL,
  user_id BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  -- The browser login at the embedded provider the chain was exchanged from.
  login_id BLOB,
  -- The session at an external issuer that it came from, as `sid` of its tokens names it.
  issuer_session TEXT,
  -- What the session was begun with: the name that the client gives of itself, and its address.
  user_agent TEXT,
  client_ip TEXT,
  -- `bailiwick token` has made the session: nobody has signed in for it.
  by_operator INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  -- When the person last proved who they are. NULL: at the exchange.
  signed_in_at INTEGER,
  -- How the person has signed in at the embedded provider. NULL: at another one.
  methods TEXT,
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
CREATE INDEX session_chains_issuer_session ON session_chains (issuer_session) WHERE issuer_session IS NOT NULL;

-- Refresh tokens rotated out within the reuse grace.
CREATE TABLE session_rotations (
  refresh_id BLOB PRIMARY KEY NOT NULL,
  chain_id BLOB NOT NULL REFERENCES session_chains (id) ON DELETE CASCADE,
  rotated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX session_rotations_chain ON session_rotations (chain_id);

-- Browsers that are signed in to the console. The cookie is stored as its SHA-256.
CREATE TABLE console_sessions (
  token_hash BLOB PRIMARY KEY NOT NULL,
  -- The session it goes on with.
  chain_id BLOB NOT NULL REFERENCES session_chains (id) ON DELETE CASCADE,
  -- The impersonation in which its requests are made.
  impersonation_id BLOB,
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX console_sessions_chain ON console_sessions (chain_id);

-- Signing keys of the embedded OpenID provider.
CREATE TABLE oidc_keys (
  kid TEXT PRIMARY KEY NOT NULL,
  -- PKCS#8, sealed.
  sealed BLOB NOT NULL,
  public_jwk TEXT NOT NULL CHECK (json_valid(public_jwk)),
  created_at INTEGER NOT NULL,
  retired_at INTEGER
) STRICT;

-- A browser that has signed in; what it led to lives as long as it is not ended. Each token of the provider is stored as
-- its SHA-256.
CREATE TABLE oidc_logins (
  id BLOB PRIMARY KEY NOT NULL,
  user_id BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  token_hash BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  authenticated_at INTEGER NOT NULL,
  -- How the user has signed in. NULL: with the password alone.
  methods TEXT,
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
  -- What the user must still do after the password: prove a second factor or add one. NULL: nothing.
  step TEXT,
  -- What they have proved so far.
  methods TEXT,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) STRICT;
CREATE INDEX oidc_interactions_browser ON oidc_interactions (browser_hash);
CREATE INDEX oidc_interactions_user ON oidc_interactions (user_id);
CREATE INDEX oidc_interactions_expiry ON oidc_interactions (expires_at);

-- What people have allowed applications of third parties to learn at sign-in
-- (spec: openid-provider#third-party-applications).
CREATE TABLE oidc_consents (
  user_id BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  client_id TEXT NOT NULL,
  -- Scopes, separated by spaces.
  scope TEXT NOT NULL,
  given_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, client_id)
) STRICT, WITHOUT ROWID;

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
  -- How the person had signed in when the grant was made. NULL: as its login says.
  methods TEXT,
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

-- Access and refresh tokens of grants.
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

-- A passkey's public key and state are those of the library that checks it.
CREATE TABLE passkeys (
  id BLOB PRIMARY KEY NOT NULL,
  user_id BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  credential_id BLOB NOT NULL,
  public_key BLOB NOT NULL,
  state BLOB NOT NULL,
  created_at INTEGER NOT NULL,
  last_used_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX passkeys_credential ON passkeys (credential_id);
CREATE INDEX passkeys_user ON passkeys (user_id);

-- One row for each user with an authenticator application, wrong codes or a grace period.
CREATE TABLE second_factors (
  user_id BLOB PRIMARY KEY NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  -- Sealed.
  totp_secret BLOB,
  totp_created_at INTEGER,
  totp_used_at INTEGER,
  -- The last time step whose code was used: neither it nor an earlier one counts again.
  totp_step INTEGER,
  -- Wrong codes since the last right one, and since the window began.
  wrong_in_a_row INTEGER NOT NULL,
  window_began_at INTEGER,
  wrong_in_window INTEGER NOT NULL,
  -- The first sign-in at which a second factor was required and missing.
  grace_began_at INTEGER
) STRICT, WITHOUT ROWID;

-- Recovery codes, as their SHA-256.
CREATE TABLE recovery_codes (
  user_id BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  code_hash BLOB NOT NULL,
  PRIMARY KEY (user_id, code_hash)
) STRICT, WITHOUT ROWID;

-- Organizations whose users, and those of everything below, need a second factor. Only users at the level that has set it,
-- or above, can take it back.
CREATE TABLE second_factor_requirements (
  organization_id BLOB PRIMARY KEY NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  set_by_type TEXT NOT NULL,
  set_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The present consent of a user (spec: impersonation#consent), one at most. Replaced it has another id, withdrawn it is gone.
CREATE TABLE impersonation_consents (
  user_id BLOB PRIMARY KEY NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  id BLOB NOT NULL,
  expires_at INTEGER NOT NULL,
  max_duration_minutes INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
-- The next one to expire is part of the key of kept lists of users.
CREATE INDEX impersonation_consents_expiry ON impersonation_consents (expires_at);

-- A row outlives both users, hence no reference to them; nor to the consent and the chain it is bound to.
CREATE TABLE impersonation_sessions (
  id BLOB PRIMARY KEY NOT NULL,
  impersonator_user_id BLOB NOT NULL,
  impersonated_user_id BLOB NOT NULL,
  impersonator_username TEXT NOT NULL,
  impersonated_username TEXT NOT NULL,
  impersonator_name TEXT NOT NULL,
  impersonated_name TEXT NOT NULL,
  consent_id BLOB NOT NULL,
  -- The impersonator's chain it is bound to, and the browser login that came from.
  chain_id BLOB NOT NULL,
  login_id BLOB,
  started_at INTEGER NOT NULL,
  -- That of the consent.
  expires_at INTEGER NOT NULL,
  ended_at INTEGER,
  end_cause TEXT CHECK (end_cause IN ('exit', 'impersonator', 'consent', 'expiry', 'target')),
  -- What became of the impersonated user, when that was the cause.
  end_reason TEXT,
  -- Id of the audit entry of its end, so that there is one, whoever writes it.
  end_entry_id BLOB NOT NULL,
  -- All audit entries.
  action_count INTEGER NOT NULL DEFAULT 0,
  CHECK ((ended_at IS NULL) = (end_cause IS NULL))
) STRICT;
-- One live session of each impersonator.
CREATE UNIQUE INDEX impersonation_sessions_live_unique ON impersonation_sessions (impersonator_user_id) WHERE ended_at IS NULL;
CREATE INDEX impersonation_sessions_live_impersonated ON impersonation_sessions (impersonated_user_id) WHERE ended_at IS NULL;
CREATE INDEX impersonation_sessions_live_chain ON impersonation_sessions (chain_id) WHERE ended_at IS NULL;
CREATE INDEX impersonation_sessions_live_login ON impersonation_sessions (login_id) WHERE ended_at IS NULL;
CREATE INDEX impersonation_sessions_live_expiry ON impersonation_sessions (expires_at) WHERE ended_at IS NULL;
CREATE INDEX impersonation_sessions_impersonator ON impersonation_sessions (impersonator_user_id, started_at, id);
CREATE INDEX impersonation_sessions_impersonated ON impersonation_sessions (impersonated_user_id, started_at, id);
CREATE INDEX impersonation_sessions_ended ON impersonation_sessions (ended_at) WHERE ended_at IS NOT NULL;

-- What was done in a session. seq is the order of writing.
CREATE TABLE impersonation_entries (
  seq INTEGER PRIMARY KEY AUTOINCREMENT NOT NULL,
  id BLOB NOT NULL,
  session_id BLOB NOT NULL REFERENCES impersonation_sessions (id) ON DELETE CASCADE,
  at INTEGER NOT NULL,
  action_type TEXT NOT NULL CHECK (action_type IN ('session_start', 'api_call', 'session_end')),
  api_endpoint TEXT,
  http_method TEXT,
  -- Without secrets.
  request_data TEXT,
  -- NULL until the call has been answered.
  response_status INTEGER,
  response_status_text TEXT
) STRICT;
CREATE UNIQUE INDEX impersonation_entries_id_unique ON impersonation_entries (id);
CREATE INDEX impersonation_entries_session ON impersonation_entries (session_id, at, seq);
