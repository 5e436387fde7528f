-- Systems that are neither deleted nor suspended on their own and have been heard of, by what they are counted as
-- (system_activity.counted): lists in the order of status walk through it instead of looking at each heartbeat. It moves
-- with what they are counted as, not with heartbeats.
CREATE TABLE system_statuses (
  system_id BLOB PRIMARY KEY NOT NULL REFERENCES systems (id) ON DELETE CASCADE,
  counted INTEGER NOT NULL,
  organization_id BLOB NOT NULL,
  p2 BLOB,
  p3 BLOB
) STRICT, WITHOUT ROWID;
INSERT INTO system_statuses (system_id, counted, organization_id, p2, p3)
  SELECT s.id, a.counted, s.organization_id, s.p2, s.p3 FROM systems s JOIN system_activity a ON a.system_id = s.id
  WHERE s.deleted_at IS NULL AND s.suspended_at IS NULL AND a.counted <> 0;
CREATE INDEX system_statuses_all ON system_statuses (counted, system_id, organization_id);
CREATE INDEX system_statuses_p2 ON system_statuses (p2, counted, system_id, organization_id);
CREATE INDEX system_statuses_p3 ON system_statuses (p3, counted, system_id, organization_id);
