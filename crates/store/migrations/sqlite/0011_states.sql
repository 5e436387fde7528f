-- A suspension rewrites eff_suspended_at of everything below an organization. That column is in no index from here on, so
-- no index is written with it (docs/tree.md).
DROP INDEX organizations_type_suspended;
DROP INDEX organizations_p2_type_suspended;
DROP INDEX organizations_p3_type_suspended;
DROP INDEX organizations_suspended;
-- The own marks, from which what is suspended below them is found.
CREATE INDEX organizations_marked ON organizations (type, id) WHERE suspended_at IS NOT NULL;
