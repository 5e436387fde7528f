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
