-- Rebranding (spec: rebranding).

-- Products come from the settings; a row tells since when one is known, and stays when the product is configured no longer,
-- as its assets do.
CREATE TABLE rebrandable_products (
  id TEXT PRIMARY KEY NOT NULL CHECK (length(id) BETWEEN 1 AND 100),
  display_name TEXT NOT NULL CHECK (length(display_name) BETWEEN 1 AND 255),
  type TEXT NOT NULL CHECK (type IN ('application', 'system')),
  created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- A row for each organization that shows its own brand. Few: the flag of everybody else is found from here.
CREATE TABLE rebranding_enabled (
  organization_id BLOB PRIMARY KEY NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  enabled_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- The bytes stand last: the rest of a row is read without them.
CREATE TABLE rebranding_assets (
  organization_id BLOB NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  product_id TEXT NOT NULL REFERENCES rebrandable_products (id),
  asset TEXT NOT NULL,
  content_type TEXT NOT NULL,
  -- Hex of the SHA-256 of the bytes.
  sha256 TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  -- An image may be kept in a bucket (assets.images). Then the row names the object and its size, and has no bytes itself. A
  -- key is used for one object and never again.
  object_key TEXT CHECK (object_key IS NULL OR length(bytes) = 0),
  object_size INTEGER CHECK ((object_size IS NULL) = (object_key IS NULL)),
  bytes BLOB NOT NULL,
  PRIMARY KEY (organization_id, product_id, asset)
) STRICT;
CREATE INDEX rebranding_assets_product ON rebranding_assets (product_id);
CREATE UNIQUE INDEX rebranding_assets_object ON rebranding_assets (object_key) WHERE object_key IS NOT NULL;

-- What an organization calls a product.
CREATE TABLE rebranding_product_names (
  organization_id BLOB NOT NULL REFERENCES organizations (id) ON DELETE CASCADE,
  product_id TEXT NOT NULL REFERENCES rebrandable_products (id),
  product_name TEXT NOT NULL,
  PRIMARY KEY (organization_id, product_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX rebranding_product_names_product ON rebranding_product_names (product_id);
