-- Images may be kept in a bucket (assets.images). Then the row names the object and its size, and has no bytes itself.
-- A key is used for one object and never again.
ALTER TABLE rebranding_assets ADD COLUMN object_key text COLLATE "C" CHECK (object_key IS NULL OR octet_length(bytes) = 0);
ALTER TABLE rebranding_assets ADD COLUMN object_size bigint CHECK ((object_size IS NULL) = (object_key IS NULL));
CREATE UNIQUE INDEX rebranding_assets_object ON rebranding_assets (object_key) WHERE object_key IS NOT NULL;
ALTER TABLE avatars ADD COLUMN object_key text COLLATE "C" CHECK (object_key IS NULL OR octet_length(image) = 0);
ALTER TABLE avatars ADD COLUMN object_size bigint CHECK ((object_size IS NULL) = (object_key IS NULL));
CREATE UNIQUE INDEX avatars_object ON avatars (object_key) WHERE object_key IS NOT NULL;
