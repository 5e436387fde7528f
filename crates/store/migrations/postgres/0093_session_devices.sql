-- What a session was begun with: the name that the client gives of itself, and its address.
ALTER TABLE session_chains ADD COLUMN user_agent text;
ALTER TABLE session_chains ADD COLUMN client_ip text;
