-- A CSV file that was checked and waits to be confirmed (contract 02 §8, §13); used once, for 30 minutes.
CREATE TABLE import_sessions (
  id uuid PRIMARY KEY NOT NULL,
  user_id uuid NOT NULL REFERENCES users (id) ON DELETE CASCADE,
  family text COLLATE "C" NOT NULL CHECK (family IN ('distributors', 'resellers', 'customers', 'users')),
  -- The file as it came, compressed with zstd, and its size before.
  content bytea NOT NULL,
  size bigint NOT NULL,
  created_at timestamptz NOT NULL
);
CREATE INDEX import_sessions_user ON import_sessions (user_id, created_at, id);
CREATE INDEX import_sessions_created ON import_sessions (created_at);

-- An import tells of addresses that only deleted users have.
CREATE INDEX users_deleted_email ON users (email_key) WHERE deleted_at IS NOT NULL;
