-- Sessions, the embedded OpenID provider, second factors and impersonation.

-- Session chains (spec: authentication#session-chains): one for each exchange.
CREATE TABLE session_chains (
  id uuid PRIMARY KEY NOT NULL,
  user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  -- The browser login at the embedded provider the chain was exchanged from.
  login_id uuid,
  -- The session at an external issuer that it came from, as `sid` of its tokens names it.
  issuer_session text,
  -- What the session was begun with: the name that the client gives of itself, and its address.
  user_agent text,
  client_ip text,
  -- `bailiwick token` has made the session: nobody has signed in for it.
  by_operator boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL,
  -- When the person last proved who they are. NULL: at the exchange.
  signed_in_at timestamptz,
  -- How the person has signed in at the embedded provider. NULL: at another one.
  methods text,
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
CREATE INDEX session_chains_issuer_session ON session_chains (issuer_session) WHERE issuer_session IS NOT NULL;

-- Refresh tokens rotated out within the reuse grace.
CREATE TABLE session_rotations (
  refresh_id uuid PRIMARY KEY NOT NULL,
  chain_id uuid NOT NULL REFERENCES session_chains (id) ON DELETE CASCADE,
  rotated_at timestamptz NOT NULL
);
CREATE INDEX session_rotations_chain ON session_rotations (chain_id);

-- Browsers that are signed in to the console. The cookie is stored as its SHA-256.
CREATE TABLE console_sessions (
  token_hash bytea PRIMARY KEY NOT NULL,
  -- The session it goes on with.
  chain_id uuid NOT NULL REFERENCES session_chains (id) ON DELETE CASCADE,
  -- The impersonation in which its requests are made.
  impersonation_id uuid,
  created_at timestamptz NOT NULL
);
CREATE INDEX console_sessions_chain ON console_sessions (chain_id);

-- Signing keys of the embedded OpenID provider.
CREATE TABLE oidc_keys (
  kid text COLLATE "C" PRIMARY KEY NOT NULL,
  -- PKCS#8, sealed.
  sealed bytea NOT NULL,
  public_jwk jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  retired_at timestamptz
);

-- A browser that has signed in; what it led to lives as long as it is not ended. Each token of the provider is stored as
-- its SHA-256.
CREATE TABLE oidc_logins (
  id uuid PRIMARY KEY NOT NULL,
  user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  token_hash bytea NOT NULL,
  created_at timestamptz NOT NULL,
  authenticated_at timestamptz NOT NULL,
  -- How the user has signed in. NULL: with the password alone.
  methods text,
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
  -- What the user must still do after the password: prove a second factor or add one. NULL: nothing.
  step text,
  -- What they have proved so far.
  methods text,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX oidc_interactions_browser ON oidc_interactions (browser_hash);
CREATE INDEX oidc_interactions_user ON oidc_interactions (user_id);
CREATE INDEX oidc_interactions_expiry ON oidc_interactions (expires_at);

-- What people have allowed applications of third parties to learn at sign-in
-- (spec: openid-provider#third-party-applications).
CREATE TABLE oidc_consents (
  user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  client_id text COLLATE "C" NOT NULL,
  -- Scopes, separated by spaces.
  scope text COLLATE "C" NOT NULL,
  given_at timestamptz NOT NULL,
  PRIMARY KEY (user_id, client_id)
);

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
  -- How the person had signed in when the grant was made. NULL: as its login says.
  methods text,
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

-- Access and refresh tokens of grants.
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

-- A passkey's public key and state are those of the library that checks it.
CREATE TABLE passkeys (
  id uuid PRIMARY KEY NOT NULL,
  user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  name text NOT NULL,
  credential_id bytea NOT NULL,
  public_key bytea NOT NULL,
  state bytea NOT NULL,
  created_at timestamptz NOT NULL,
  last_used_at timestamptz
);
CREATE UNIQUE INDEX passkeys_credential ON passkeys (credential_id);
CREATE INDEX passkeys_user ON passkeys (user_id);

-- One row for each user with an authenticator application, wrong codes or a grace period.
CREATE TABLE second_factors (
  user_id uuid PRIMARY KEY NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  -- Sealed.
  totp_secret bytea,
  totp_created_at timestamptz,
  totp_used_at timestamptz,
  -- The last time step whose code was used: neither it nor an earlier one counts again.
  totp_step bigint,
  -- Wrong codes since the last right one, and since the window began.
  wrong_in_a_row bigint NOT NULL,
  window_began_at timestamptz,
  wrong_in_window bigint NOT NULL,
  -- The first sign-in at which a second factor was required and missing.
  grace_began_at timestamptz
);

-- Recovery codes, as their SHA-256.
CREATE TABLE recovery_codes (
  user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  code_hash bytea NOT NULL,
  PRIMARY KEY (user_id, code_hash)
);

-- Organizations whose users, and those of everything below, need a second factor. Only users at the level that has set it,
-- or above, can take it back.
CREATE TABLE second_factor_requirements (
  organization_id uuid PRIMARY KEY NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  set_by_type text COLLATE "C" NOT NULL,
  set_at timestamptz NOT NULL
);

-- The present consent of a user (spec: impersonation#consent), one at most. Replaced it has another id, withdrawn it is gone.
CREATE TABLE impersonation_consents (
  user_id uuid PRIMARY KEY NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  id uuid NOT NULL,
  expires_at timestamptz NOT NULL,
  max_duration_minutes bigint NOT NULL,
  created_at timestamptz NOT NULL
);
-- The next one to expire is part of the key of kept lists of users.
CREATE INDEX impersonation_consents_expiry ON impersonation_consents (expires_at);

-- A row outlives both users, hence no reference to them; nor to the consent and the chain it is bound to.
CREATE TABLE impersonation_sessions (
  id uuid PRIMARY KEY NOT NULL,
  impersonator_user_id uuid NOT NULL,
  impersonated_user_id uuid NOT NULL,
  impersonator_username text COLLATE "C" NOT NULL,
  impersonated_username text COLLATE "C" NOT NULL,
  impersonator_name text COLLATE "C" NOT NULL,
  impersonated_name text COLLATE "C" NOT NULL,
  consent_id uuid NOT NULL,
  -- The impersonator's chain it is bound to, and the browser login that came from.
  chain_id uuid NOT NULL,
  login_id uuid,
  started_at timestamptz NOT NULL,
  -- That of the consent.
  expires_at timestamptz NOT NULL,
  ended_at timestamptz,
  end_cause text COLLATE "C" CHECK (end_cause IN ('exit', 'impersonator', 'consent', 'expiry', 'target')),
  -- What became of the impersonated user, when that was the cause.
  end_reason text COLLATE "C",
  -- Id of the audit entry of its end, so that there is one, whoever writes it.
  end_entry_id uuid NOT NULL,
  -- All audit entries.
  action_count bigint NOT NULL DEFAULT 0,
  CHECK ((ended_at IS NULL) = (end_cause IS NULL))
);
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
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id uuid NOT NULL,
  session_id uuid NOT NULL REFERENCES impersonation_sessions (id) ON DELETE CASCADE,
  at timestamptz NOT NULL,
  action_type text COLLATE "C" NOT NULL CHECK (action_type IN ('session_start', 'api_call', 'session_end')),
  api_endpoint text COLLATE "C",
  http_method text COLLATE "C",
  -- Without secrets.
  request_data text COLLATE "C",
  -- NULL until the call has been answered.
  response_status bigint,
  response_status_text text COLLATE "C"
);
CREATE UNIQUE INDEX impersonation_entries_id_unique ON impersonation_entries (id);
CREATE INDEX impersonation_entries_session ON impersonation_entries (session_id, at, seq);
