-- Moves when an alert begins or ends, or its assignee changes (docs/internals/answer-cache.md). A row of its own: writers of
-- alerts do not wait for writers of other lists.
CREATE TABLE active_alerts_epoch (
  id INTEGER PRIMARY KEY NOT NULL CHECK (id = 1),
  n INTEGER NOT NULL
) STRICT;
INSERT INTO active_alerts_epoch (id, n) VALUES (1, 0);
