-- The statements that are measured, for both engines. Notation as in the storage layer: [[PostgreSQL||SQLite]].
-- measure.py puts in: {root} the caller's organization, {path} and {path_end} the range of its materialized path,
-- {column} the scope column of the caller's level, {order} the ORDER BY, {cutoff} now minus the liveness timeout.
-- A line "-- name:" starts a statement; "-- for:" limits it to callers or orders.
--
-- Every page has the same shape: the ids of the page first, then what is shown of them.

-- name: page
SELECT s.id, s.name, s.type AS system_type, s.fqdn, s.ipv4_address, s.ipv6_address, s.version, s.custom_data,
       s.system_key, s.notes, s.created_by, s.created_at, s.updated_at, s.registered_at, s.suspended_at,
       s.deleted_at, o.id AS org_id, o.name AS org_name, o.type AS org_type, o.p2 AS org_p2, o.p3 AS org_p3,
       o.eff_suspended_at, o.eff_suspended_by, o.eff_deleted_at, o.eff_deleted_by, c.name AS creator_org_name,
       a.last_heartbeat, a.last_inventory
  FROM ({ids}) page
  [[JOIN||CROSS JOIN]] {systems} s ON s.id = page.page_id
  JOIN organizations o ON o.id = s.organization_id
  LEFT JOIN system_activity a ON a.system_id = s.id
  LEFT JOIN organizations c ON c.id = s.creator_org_id
 ORDER BY {order}

-- name: A ids
-- The adjacency list: the scope is found by recursion.
WITH RECURSIVE scope (id) AS (
  SELECT id FROM organizations WHERE id = {root}
  UNION ALL
  SELECT o.id FROM organizations o JOIN scope ON o.parent_id = scope.id)
SELECT s.id AS page_id FROM alternative_systems s JOIN organizations o ON o.id = s.organization_id {activity}
 WHERE s.deleted_at IS NULL AND o.eff_deleted_at IS NULL AND s.organization_id IN (SELECT id FROM scope) {run}
 ORDER BY {order} LIMIT 20

-- name: A total
WITH RECURSIVE scope (id) AS (
  SELECT id FROM organizations WHERE id = {root}
  UNION ALL
  SELECT o.id FROM organizations o JOIN scope ON o.parent_id = scope.id)
SELECT COUNT(*) FROM alternative_systems s JOIN organizations o ON o.id = s.organization_id
 WHERE s.deleted_at IS NULL AND o.eff_deleted_at IS NULL AND s.organization_id IN (SELECT id FROM scope)

-- name: B ids
-- The materialized path on the system: the scope is a text range. The engine chooses between the range and the
-- index of the order.
SELECT s.id AS page_id FROM alternative_systems s JOIN organizations o ON o.id = s.organization_id {activity}
 WHERE s.deleted_at IS NULL AND o.eff_deleted_at IS NULL AND s.path >= {path} AND s.path < {path_end} {run}
 ORDER BY {order} LIMIT 20

-- name: B total
SELECT COUNT(*) FROM alternative_systems s JOIN organizations o ON o.id = s.organization_id
 WHERE s.deleted_at IS NULL AND o.eff_deleted_at IS NULL AND s.path >= {path} AND s.path < {path_end}

-- name: AB owner ids
-- Whoever sees everything needs no tree, in any representation.
SELECT s.id AS page_id FROM alternative_systems s [[JOIN||LEFT JOIN]] organizations o ON o.id = s.organization_id {activity}
 WHERE s.deleted_at IS NULL AND o.eff_deleted_at IS NULL {run}
 ORDER BY {order} LIMIT 20

-- name: AB owner total
SELECT COUNT(*) FROM alternative_systems s JOIN organizations o ON o.id = s.organization_id
 WHERE s.deleted_at IS NULL AND o.eff_deleted_at IS NULL

-- name: C ids
-- Ancestor columns: the scope is one equality (crates/store/src/systems/list.rs).
SELECT s.id AS page_id FROM systems s [[JOIN||LEFT JOIN]] organizations o ON o.id = s.organization_id {activity}
 WHERE s.deleted_at IS NULL AND o.eff_deleted_at IS NULL {scope} {run}
 ORDER BY {order} LIMIT 20

-- name: C organization_name ids
SELECT s.id AS page_id FROM organizations o [[JOIN||CROSS JOIN]] systems s ON s.organization_id = o.id
 WHERE s.deleted_at IS NULL AND o.eff_deleted_at IS NULL {scope}
 ORDER BY {order} LIMIT 20

-- name: C total
-- The counters of the organizations (crates/store/src/organizations/counts.rs).
SELECT SUM(n.systems) FROM organizations o JOIN organization_counts n ON n.organization_id = o.id
 WHERE o.eff_deleted_at IS NULL {scope_of_organizations}

-- name: C owner total
SELECT SUM(n.systems) FROM organization_counts n
 WHERE n.organization_id NOT IN (SELECT o.id FROM organizations o WHERE o.eff_deleted_at IS NOT NULL)

-- name: C counted
-- What the counters save.
SELECT COUNT(*) FROM systems s JOIN organizations o ON o.id = s.organization_id
 WHERE s.deleted_at IS NULL AND o.eff_deleted_at IS NULL {scope}
