-- Whether `bailiwick token` has made the session: nobody has signed in for it.
ALTER TABLE session_chains ADD COLUMN by_operator boolean NOT NULL DEFAULT false;
