-- Backups of systems (contract 03 §11.3): this is the list, the bytes are objects beside the database.
CREATE TABLE backups (
  -- UUIDv7 with the suffix that tells the kind of file.
  id TEXT PRIMARY KEY NOT NULL,
  system_id BLOB NOT NULL REFERENCES systems (id) ON DELETE CASCADE,
  -- That of the system, whose quota the bytes count against.
  organization_id BLOB NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  object_key TEXT NOT NULL,
  filename TEXT NOT NULL,
  size INTEGER NOT NULL,
  sha256 TEXT NOT NULL,
  mimetype TEXT NOT NULL,
  uploaded_at INTEGER NOT NULL,
  uploaded_from TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX backups_object_unique ON backups (object_key);
CREATE INDEX backups_system ON backups (system_id, uploaded_at, id);
CREATE INDEX backups_organization ON backups (organization_id);
