-- Which secrets anything may be sealed or signed with, by a fingerprint that is derived from the secret with a label of its
-- own. `resealed_at`: since then nothing that lasts is sealed with it; its tokens live on for a while.
CREATE TABLE secrets (
  fingerprint bytea PRIMARY KEY NOT NULL,
  created_at timestamptz NOT NULL,
  resealed_at timestamptz
);

-- Processes that serve, with what others must know of them; each gives a sign of life now and then.
CREATE TABLE processes (
  id uuid PRIMARY KEY NOT NULL,
  host text COLLATE "C" NOT NULL,
  public_url text COLLATE "C" NOT NULL,
  issuer text COLLATE "C" NOT NULL,
  audience text COLLATE "C" NOT NULL,
  secret bytea NOT NULL,
  previous_secret bytea,
  started_at timestamptz NOT NULL,
  seen_at timestamptz NOT NULL
);
