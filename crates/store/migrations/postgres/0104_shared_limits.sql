-- Counters of limits that all processes share (docs/internals/limits.md). The key is a keyed digest of what is limited, so the
-- table names nobody. A crash of the server may empty it.
CREATE UNLOGGED TABLE shared_limits (
    key uuid PRIMARY KEY,
    -- Of a rate: how much of the bucket is used, in microseconds. Of failures: how many.
    amount BIGINT NOT NULL DEFAULT 0,
    -- Of a rate: when the amount was true. Of failures: when the first one was. In microseconds.
    at_micros BIGINT NOT NULL DEFAULT 0,
    -- Of a rate: how many requests the last statement let pass.
    passed BIGINT NOT NULL DEFAULT 0,
    -- Of a window: the times that count, eight bytes each.
    events bytea NOT NULL DEFAULT '',
    -- Since when a pair of address and credential is refused.
    refused_at timestamptz,
    purge_at timestamptz NOT NULL
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE INDEX shared_limits_purge ON shared_limits (purge_at);
CREATE INDEX shared_limits_refused ON shared_limits (refused_at) WHERE refused_at IS NOT NULL;
