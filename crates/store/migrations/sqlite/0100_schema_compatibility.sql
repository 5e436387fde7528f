-- The number of the newest migration that a program must know at least to run on this schema (docs/internals/storage.md). A
-- migration that takes away what an older program uses raises it.
CREATE TABLE schema_compatibility (
  id INTEGER PRIMARY KEY NOT NULL CHECK (id = 1),
  oldest INTEGER NOT NULL
) STRICT;
INSERT INTO schema_compatibility (id, oldest) VALUES (1, 100);
