-- What people have allowed applications of third parties to learn at sign-in (contract 01 §2.8, step 2).
CREATE TABLE oidc_consents (
  user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  client_id text COLLATE "C" NOT NULL,
  -- Scopes, separated by spaces.
  scope text COLLATE "C" NOT NULL,
  given_at timestamptz NOT NULL,
  PRIMARY KEY (user_id, client_id)
);
