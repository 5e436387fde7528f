-- The record may be large, and statements of the service end after a while.
SET LOCAL statement_timeout = 0;
-- The place in the tree of the organization whose rights were used, so that a branch can list what was done in it. A
-- promotion changes it, as that of systems.
ALTER TABLE audit_log ADD COLUMN p2 uuid;
ALTER TABLE audit_log ADD COLUMN p3 uuid;
UPDATE audit_log SET p2 = (SELECT o.p2 FROM organizations o WHERE o.id = audit_log.actor_organization_id),
  p3 = (SELECT o.p3 FROM organizations o WHERE o.id = audit_log.actor_organization_id);
-- Each index ends with the order of the list, so that a page reads its own rows alone.
CREATE INDEX audit_log_p2 ON audit_log (p2, at, id);
CREATE INDEX audit_log_p2_action ON audit_log (p2, action, at, id);
CREATE INDEX audit_log_p3 ON audit_log (p3, at, id);
CREATE INDEX audit_log_p3_action ON audit_log (p3, action, at, id);
CREATE INDEX audit_log_organization_action ON audit_log (actor_organization_id, action, at, id);
DROP INDEX audit_log_organization;
CREATE INDEX audit_log_organization ON audit_log (actor_organization_id, at, id);
DROP INDEX audit_log_actor;
CREATE INDEX audit_log_actor ON audit_log (actor_user_id, at, id);
