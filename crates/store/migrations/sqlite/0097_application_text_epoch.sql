-- Moves when a search in applications can find others (docs/internals/answer-cache.md).
ALTER TABLE list_epochs ADD COLUMN application_texts INTEGER NOT NULL DEFAULT 0;
