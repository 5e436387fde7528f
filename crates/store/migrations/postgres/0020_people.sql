-- Raised in the same transaction as anything that changes what a list of organizations or users can show, so that an
-- answer made from a whole tree is made once for each state of it.
CREATE TABLE people_epoch (
  id bigint PRIMARY KEY NOT NULL CHECK (id = 1),
  n bigint NOT NULL
);
INSERT INTO people_epoch (id, n) VALUES (1, 0);
