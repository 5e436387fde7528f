-- The name with which a creation was begun whose answer is not known: it is searched for, whatever the name is by then.
ALTER TABLE logto_users ADD COLUMN creating_name text COLLATE "C";
ALTER TABLE logto_organizations ADD COLUMN creating_name text COLLATE "C";
-- The same of an object that is gone here before anybody knew its id there.
ALTER TABLE logto_outbox ADD COLUMN search_name text COLLATE "C";
