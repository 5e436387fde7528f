-- The systems that a move of the auth epoch concerns, with the number before it. A move without a row concerns all systems.
CREATE TABLE auth_changes (
    n INTEGER NOT NULL,
    before INTEGER NOT NULL,
    system_id BLOB NOT NULL,
    PRIMARY KEY (n, system_id)
) STRICT, WITHOUT ROWID;
