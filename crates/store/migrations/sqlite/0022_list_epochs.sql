-- Lists show more than organizations and users themselves: how much is below an organization, and when somebody last
-- signed in. Each has a mark of its own, so that a sign-in or a new system does not renew what shows neither.
ALTER TABLE people_epoch RENAME TO list_epochs;
ALTER TABLE list_epochs RENAME COLUMN n TO people;
ALTER TABLE list_epochs ADD COLUMN figures INTEGER NOT NULL DEFAULT 0;
ALTER TABLE list_epochs ADD COLUMN logins INTEGER NOT NULL DEFAULT 0;
