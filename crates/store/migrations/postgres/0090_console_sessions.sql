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
