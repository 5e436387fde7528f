-- What people have beside their password. A passkey's public key and state are those of the library that checks it; the secret of
-- an authenticator application is sealed; recovery codes are stored as their SHA-256.
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

CREATE TABLE recovery_codes (
  user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  code_hash bytea NOT NULL,
  PRIMARY KEY (user_id, code_hash)
);

-- Organizations whose users, and those of everything below, need a second factor. Only users at the level that has set it, or
-- above, can take it back.
CREATE TABLE second_factor_requirements (
  organization_id uuid PRIMARY KEY NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  set_by_type text COLLATE "C" NOT NULL,
  set_at timestamptz NOT NULL
);
