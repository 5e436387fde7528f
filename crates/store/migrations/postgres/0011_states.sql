-- A suspension rewrites eff_suspended_at of everything below an organization. That column is in no index from here on, and
-- each page keeps room for a second version of all its rows: so the new versions stay in their pages and no index is
-- written (docs/tree.md). Pages filled before this keep their rows until these are written again.
DROP INDEX organizations_type_suspended;
DROP INDEX organizations_p2_type_suspended;
DROP INDEX organizations_p3_type_suspended;
DROP INDEX organizations_suspended;
ALTER TABLE organizations SET (fillfactor = 50);
-- The own marks, from which what is suspended below them is found.
CREATE INDEX organizations_marked ON organizations (type, id) WHERE suspended_at IS NOT NULL;
