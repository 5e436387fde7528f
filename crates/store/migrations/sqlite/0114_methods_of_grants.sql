-- How the person had signed in when the grant was made. NULL for grants of before: those say what their login says.
ALTER TABLE oidc_grants ADD COLUMN methods TEXT;
