-- Which secrets anything may be sealed or signed with, by a fingerprint that is derived from the secret with a label of its
-- own. `resealed_at`: since then nothing that lasts is sealed with it; its tokens live on for a while.
CREATE TABLE secrets (
  fingerprint BLOB PRIMARY KEY NOT NULL,
  created_at INTEGER NOT NULL,
  resealed_at INTEGER
) STRICT;

-- Processes that serve, with what others must know of them; each gives a sign of life now and then.
CREATE TABLE processes (
  id BLOB PRIMARY KEY NOT NULL,
  host TEXT NOT NULL,
  public_url TEXT NOT NULL,
  issuer TEXT NOT NULL,
  audience TEXT NOT NULL,
  secret BLOB NOT NULL,
  previous_secret BLOB,
  started_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL
) STRICT;
