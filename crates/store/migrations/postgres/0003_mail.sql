-- A job that was given up stays for the operator to see, with last_error, without its secrets.
ALTER TABLE jobs ADD COLUMN ended_at timestamptz;
CREATE INDEX jobs_ended ON jobs (ended_at) WHERE ended_at IS NOT NULL;

-- The address before one that the user has set himself and not confirmed: links for a new password go there.
ALTER TABLE users ADD COLUMN previous_email text COLLATE "C";
ALTER TABLE users ADD COLUMN previous_email_key text COLLATE "C";
-- Folded address that the present generated password was mailed to.
ALTER TABLE users ADD COLUMN password_mailed_to text COLLATE "C";
CREATE INDEX users_previous_email ON users (previous_email_key) WHERE previous_email_key IS NOT NULL;

-- Links sent by mail, their token as its SHA-256. Used ones stay until they expire: they count against the limit.
CREATE TABLE mail_links (
  token_hash bytea PRIMARY KEY NOT NULL,
  purpose text COLLATE "C" NOT NULL CHECK (purpose IN ('password', 'address')),
  user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  -- Where it was sent.
  address text COLLATE "C" NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  ended_at timestamptz
);
CREATE INDEX mail_links_user ON mail_links (user_id, purpose, created_at);
CREATE INDEX mail_links_expiry ON mail_links (expires_at);
