-- What a session was begun with: the name that the client gives of itself, and its address.
ALTER TABLE session_chains ADD COLUMN user_agent TEXT;
ALTER TABLE session_chains ADD COLUMN client_ip TEXT;
