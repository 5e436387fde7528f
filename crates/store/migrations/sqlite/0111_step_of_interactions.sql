-- What the user must still do after the password: prove a second factor or add one. NULL: nothing.
ALTER TABLE oidc_interactions ADD COLUMN step TEXT;
-- What they have proved so far.
ALTER TABLE oidc_interactions ADD COLUMN methods TEXT;
