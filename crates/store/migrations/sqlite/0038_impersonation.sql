-- Impersonation with consent (contract 01 §7).

-- The present consent of a user, one at most. Replaced it has another id, withdrawn it is gone.
CREATE TABLE impersonation_consents (
  user_id BLOB PRIMARY KEY NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  id BLOB NOT NULL,
  expires_at INTEGER NOT NULL,
  max_duration_minutes INTEGER NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
-- The next one to expire is part of the key of kept lists of users.
CREATE INDEX impersonation_consents_expiry ON impersonation_consents (expires_at);

-- Outlives both users, hence no reference to them; nor to the consent and the chain it is bound to.
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
