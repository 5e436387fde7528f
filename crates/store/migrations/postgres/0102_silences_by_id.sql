-- A silence is looked for by its id alone where a request names an organization and everything below it.
CREATE INDEX router_silences_id ON router_silences (id);
