-- The rule by which stored texts were folded for comparisons. A program with a newer rule folds them again when it starts
-- (docs/internals/storage.md).
CREATE TABLE text_folding (
  id bigint PRIMARY KEY NOT NULL CHECK (id = 1),
  rule bigint NOT NULL
);
INSERT INTO text_folding (id, rule) VALUES (1, 1);
