-- Which account of an external identity provider is which user (contract 01 §2.1).
CREATE TABLE user_identities (
  issuer text COLLATE "C" NOT NULL,
  subject text COLLATE "C" NOT NULL,
  user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  linked_at timestamptz NOT NULL,
  PRIMARY KEY (issuer, subject)
);
CREATE UNIQUE INDEX user_identities_user_unique ON user_identities (user_id, issuer);
