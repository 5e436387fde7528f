-- The rule by which stored texts were folded for comparisons. A program with a newer rule folds them again when it starts
-- (docs/internals/storage.md).
CREATE TABLE text_folding (
  id INTEGER PRIMARY KEY NOT NULL CHECK (id = 1),
  rule INTEGER NOT NULL
) STRICT;
INSERT INTO text_folding (id, rule) VALUES (1, 1);
