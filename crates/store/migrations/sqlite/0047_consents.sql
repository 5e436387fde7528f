-- What people have allowed applications of third parties to learn at sign-in (contract 01 §2.8, step 2).
CREATE TABLE oidc_consents (
  user_id BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  client_id TEXT NOT NULL,
  -- Scopes, separated by spaces.
  scope TEXT NOT NULL,
  given_at INTEGER NOT NULL,
  PRIMARY KEY (user_id, client_id)
) STRICT, WITHOUT ROWID;
