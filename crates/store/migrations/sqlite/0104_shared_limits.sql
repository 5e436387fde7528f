-- Counters of limits that all processes share (docs/internals/limits.md). The key is a keyed digest of what is limited, so the
-- table names nobody.
CREATE TABLE shared_limits (
    key BLOB PRIMARY KEY NOT NULL,
    -- Of a rate: how much of the bucket is used, in microseconds. Of failures: how many.
    amount INTEGER NOT NULL DEFAULT 0,
    -- Of a rate: when the amount was true. Of failures: when the first one was. In microseconds.
    at_micros INTEGER NOT NULL DEFAULT 0,
    -- Of a rate: how many requests the last statement let pass.
    passed INTEGER NOT NULL DEFAULT 0,
    -- Of a window: the times that count, eight bytes each.
    events BLOB NOT NULL DEFAULT x'',
    -- Since when a pair of address and credential is refused.
    refused_at INTEGER,
    purge_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX shared_limits_purge ON shared_limits (purge_at);
CREATE INDEX shared_limits_refused ON shared_limits (refused_at) WHERE refused_at IS NOT NULL;
