-- Impersonation with consent (contract 01 §7).

-- The present consent of a user, one at most. Replaced it has another id, withdrawn it is gone.
CREATE TABLE impersonation_consents (
  user_id uuid PRIMARY KEY NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  id uuid NOT NULL,
  expires_at timestamptz NOT NULL,
  max_duration_minutes bigint NOT NULL,
  created_at timestamptz NOT NULL
);
-- The next one to expire is part of the key of kept lists of users.
CREATE INDEX impersonation_consents_expiry ON impersonation_consents (expires_at);

-- Outlives both users, hence no reference to them; nor to the consent and the chain it is bound to.
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
