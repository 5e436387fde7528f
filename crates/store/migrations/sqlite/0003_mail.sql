-- A job that was given up stays for the operator to see, with last_error, without its secrets.
ALTER TABLE jobs ADD COLUMN ended_at INTEGER;
CREATE INDEX jobs_ended ON jobs (ended_at) WHERE ended_at IS NOT NULL;

-- The address before one that the user has set himself and not confirmed: links for a new password go there.
ALTER TABLE users ADD COLUMN previous_email TEXT;
ALTER TABLE users ADD COLUMN previous_email_key TEXT;
-- Folded address that the present generated password was mailed to.
ALTER TABLE users ADD COLUMN password_mailed_to TEXT;
CREATE INDEX users_previous_email ON users (previous_email_key) WHERE previous_email_key IS NOT NULL;

-- Links sent by mail, their token as its SHA-256. Used ones stay until they expire: they count against the limit.
CREATE TABLE mail_links (
  token_hash BLOB PRIMARY KEY NOT NULL,
  purpose TEXT NOT NULL CHECK (purpose IN ('password', 'address')),
  user_id BLOB NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  -- Where it was sent.
  address TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  ended_at INTEGER
) STRICT;
CREATE INDEX mail_links_user ON mail_links (user_id, purpose, created_at);
CREATE INDEX mail_links_expiry ON mail_links (expires_at);
