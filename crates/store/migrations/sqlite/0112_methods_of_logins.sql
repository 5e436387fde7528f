-- How the user has signed in. NULL where a program of the version before has written it: with the password alone.
ALTER TABLE oidc_logins ADD COLUMN methods TEXT;
