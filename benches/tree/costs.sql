-- What the representations cost when something is written; each statement runs in a transaction that is rolled back.
-- Notation as in queries.sql. {caller} the greatest reseller, {owner} the owner organization, {path} the reseller's
-- path, {path_end} the end of its range, {promoted} its path as a distributor, {skip} the length of the old path + 1.

-- name: C insert 1,000 systems
INSERT INTO systems ({columns}) SELECT {copied} FROM systems
 WHERE id IN (SELECT id FROM systems ORDER BY secret_public LIMIT 1000)

-- name: AB insert 1,000 systems
INSERT INTO alternative_systems ({columns}, path) SELECT {copied}, path FROM alternative_systems
 WHERE id IN (SELECT id FROM systems ORDER BY secret_public LIMIT 1000)

-- name: C update version and updated_at of 1,000 systems
UPDATE systems SET version = '9.9.9', updated_at = updated_at + [[interval '1 s'||1000000]]
 WHERE id IN (SELECT id FROM systems ORDER BY secret_public LIMIT 1000)

-- name: AB update version and updated_at of 1,000 systems
UPDATE alternative_systems SET version = '9.9.9', updated_at = updated_at + [[interval '1 s'||1000000]]
 WHERE id IN (SELECT id FROM systems ORDER BY secret_public LIMIT 1000)

-- name: C promote the greatest reseller
UPDATE organizations SET p2 = {caller}, type = CASE WHEN id = {caller} THEN 'distributor' ELSE type END,
       parent_id = CASE WHEN id = {caller} THEN {owner} ELSE parent_id END
 WHERE p3 = {caller}

-- name: A promote the greatest reseller
UPDATE organizations SET type = 'distributor', parent_id = {owner} WHERE id = {caller}

-- name: B promote the greatest reseller
UPDATE alternative_systems SET path = {promoted} || substr(path, {skip}) WHERE path >= {path} AND path < {path_end}
