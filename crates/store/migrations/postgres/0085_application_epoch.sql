-- Moves when an organization has more or fewer listed applications of a module, or of them assigned ones.
ALTER TABLE list_epochs ADD COLUMN applications bigint NOT NULL DEFAULT 0;
