-- Systems by status are counted as they change instead of when somebody asks. As what a system is counted: 0 never heard
-- of, 1 active, 2 silent. In no index, so that what moves it writes none.
ALTER TABLE system_activity ADD COLUMN counted bigint NOT NULL DEFAULT 0;
UPDATE system_activity SET counted = 1 WHERE last_heartbeat IS NOT NULL;
-- Of the systems counted in organization_counts.systems: suspended on their own; of the others, those counted as 0 and 2.
ALTER TABLE organization_counts ADD COLUMN systems_suspended bigint NOT NULL DEFAULT 0;
ALTER TABLE organization_counts ADD COLUMN systems_unheard bigint NOT NULL DEFAULT 0;
ALTER TABLE organization_counts ADD COLUMN systems_silent bigint NOT NULL DEFAULT 0;
UPDATE organization_counts SET systems_suspended = (SELECT COUNT(*) FROM systems s
    WHERE s.organization_id = organization_counts.organization_id AND s.deleted_at IS NULL AND s.suspended_at IS NOT NULL),
  systems_unheard = (SELECT COUNT(*) FROM systems s LEFT JOIN system_activity a ON a.system_id = s.id
    WHERE s.organization_id = organization_counts.organization_id AND s.deleted_at IS NULL AND s.suspended_at IS NULL
    AND a.last_heartbeat IS NULL)
  WHERE systems > 0;

-- Systems that may be something else than they are counted as: heard of since, or about to fall silent. No foreign key:
-- a heartbeat would wait for whoever holds the system.
CREATE TABLE system_unsettled (system_id uuid PRIMARY KEY NOT NULL);
-- One row. All counted as silent were heard of last at or before silent_to, unless they are unsettled; all heard of last at
-- or before watched_to are counted as silent or unsettled. Null until somebody has looked.
CREATE TABLE system_figures (
  id bigint PRIMARY KEY NOT NULL CHECK (id = 1),
  silent_to timestamptz,
  watched_to timestamptz
);
INSERT INTO system_figures (id) VALUES (1);
