-- The size of a silence's regular expressions when compiled, in bytes; 0 for silences of versions before.
ALTER TABLE router_silences ADD COLUMN compiled_bytes INTEGER NOT NULL DEFAULT 0;
