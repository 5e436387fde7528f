-- Backups of systems (contract 03 §11.3): this is the list, the bytes are objects beside the database.
CREATE TABLE backups (
  -- UUIDv7 with the suffix that tells the kind of file.
  id text COLLATE "C" PRIMARY KEY NOT NULL,
  system_id uuid NOT NULL REFERENCES systems (id) ON DELETE CASCADE,
  -- That of the system, whose quota the bytes count against.
  organization_id uuid NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  object_key text COLLATE "C" NOT NULL,
  filename text COLLATE "C" NOT NULL,
  size bigint NOT NULL,
  sha256 text COLLATE "C" NOT NULL,
  mimetype text COLLATE "C" NOT NULL,
  uploaded_at timestamptz NOT NULL,
  uploaded_from text COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX backups_object_unique ON backups (object_key);
CREATE INDEX backups_system ON backups (system_id, uploaded_at, id);
CREATE INDEX backups_organization ON backups (organization_id);
