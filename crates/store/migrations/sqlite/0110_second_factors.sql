-- What people have beside their password. A passkey's public key and state are those of the library that checks it; the secret of
-- an authenticator application is sealed; recovery codes are stored as their SHA-256.
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

CREATE TABLE recovery_codes (
  user_id BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  code_hash BLOB NOT NULL,
  PRIMARY KEY (user_id, code_hash)
) STRICT, WITHOUT ROWID;

-- Organizations whose users, and those of everything below, need a second factor. Only users at the level that has set it, or
-- above, can take it back.
CREATE TABLE second_factor_requirements (
  organization_id BLOB PRIMARY KEY NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  set_by_type TEXT NOT NULL,
  set_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
