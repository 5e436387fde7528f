-- When the person of a session last proved who they are. NULL where a program of the version before has begun it: then it is the
-- time of the exchange.
ALTER TABLE session_chains ADD COLUMN signed_in_at INTEGER;
-- The session at an external issuer that it came from, as `sid` of its tokens names it.
ALTER TABLE session_chains ADD COLUMN issuer_session TEXT;
CREATE INDEX session_chains_issuer_session ON session_chains (issuer_session) WHERE issuer_session IS NOT NULL;
