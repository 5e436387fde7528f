-- Credentials that systems have from an earlier installation (contract 03 §11.4). Beside them, systems.secret_hash may
-- hold an imported Argon2id hash until its first use (§3).
CREATE TABLE legacy_credentials (
  system_id BLOB PRIMARY KEY NOT NULL REFERENCES systems (id) ON DELETE CASCADE,
  legacy_id TEXT NOT NULL,
  -- hex(salt) ':' hex(SHA-256(salt || secret))
  secret_hash TEXT NOT NULL,
  created_at INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX legacy_credentials_id_unique ON legacy_credentials (legacy_id);
