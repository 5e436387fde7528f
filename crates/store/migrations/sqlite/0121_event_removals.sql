-- The newest event of an organization that retention by number has removed: each organization has a share of all events
-- that are kept (docs/internals/events.md).
CREATE TABLE event_removals (
  organization_id BLOB PRIMARY KEY NOT NULL,
  p2 BLOB NOT NULL,
  p3 BLOB NOT NULL,
  up_to INTEGER NOT NULL,
  FOREIGN KEY (organization_id, p2, p3) REFERENCES organizations (id, p2, p3) ON UPDATE CASCADE ON DELETE CASCADE
) STRICT;
CREATE INDEX event_removals_up_to ON event_removals (up_to);
CREATE INDEX event_removals_p2 ON event_removals (p2, up_to);
CREATE INDEX event_removals_p3 ON event_removals (p3, up_to);
