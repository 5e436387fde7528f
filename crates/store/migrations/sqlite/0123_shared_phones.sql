-- People share the number of a switchboard. Where an identity provider needs a number for each person, the use case looks for it.
DROP INDEX users_phone_unique;
CREATE INDEX users_phone ON users (phone) WHERE deleted_at IS NULL AND phone IS NOT NULL;
