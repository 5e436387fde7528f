-- The systems that a move of the auth epoch concerns, with the number before it. A move without a row concerns all systems.
CREATE TABLE auth_changes (
    n BIGINT NOT NULL,
    before BIGINT NOT NULL,
    system_id uuid NOT NULL,
    PRIMARY KEY (n, system_id)
);
