-- How the person of a session has signed in at the embedded provider. NULL elsewhere, and for sessions of before.
ALTER TABLE session_chains ADD COLUMN methods TEXT;
