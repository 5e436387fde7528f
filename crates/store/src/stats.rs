//! Figures for the metrics page: waits for connections, and how much work waits since when.

use crate::{Db, StoreError, engine::Engine, sql::Q, time::TsCodec};
use bailiwick_domain::{Ts, metrics::Times};

/// How many connections a pool has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// `all` on PostgreSQL, `replica` for its replica; `read` and `write` on SQLite.
    pub name: &'static str,
    /// Open at the moment.
    pub open: u64,
    /// Open and not in use.
    pub idle: u64,
    /// As many as may be open.
    pub most: u64,
}

/// The connections of a database and the waits for them.
#[derive(Clone, Debug)]
pub struct Connections {
    /// Each pool.
    pub pools: Vec<Pool>,
    /// Waits for a connection to read with.
    pub read: Times,
    /// Waits for a transaction to begin; on SQLite, for the one writer.
    pub write: Times,
    /// How often none was had.
    pub failed: u64,
    /// How many transactions the database could not write.
    pub write_faults: u64,
    /// How many requests that only read have read from the replica, and how many from the primary; 0 without a replica.
    pub replica: (u64, u64),
}

impl Db {
    /// The connections of this process.
    pub fn connections(&self) -> Connections {
        let replica = self.replica.as_deref();
        let pools = match &self.engine {
            Engine::Pg(pool) => {
                let of_replica = replica.map(|replica| pool_stats("replica", &replica.pool));
                std::iter::once(pool_stats("all", pool)).chain(of_replica).collect()
            }
            Engine::Lite { write, read, .. } => vec![pool_stats("read", read), pool_stats("write", write)],
        };
        let waits = &self.pools;
        Connections {
            pools,
            read: waits.read.read(),
            write: waits.write.read(),
            failed: waits.failed.get(),
            write_faults: waits.faults.count.get(),
            replica: replica.map_or((0, 0), |replica| (replica.used.get(), replica.unused.get())),
        }
    }
}

fn pool_stats<D: sqlx::Database>(name: &'static str, pool: &sqlx::Pool<D>) -> Pool {
    Pool {
        name,
        open: u64::from(pool.size()),
        idle: pool.num_idle() as u64,
        most: u64::from(pool.options().get_max_connections()),
    }
}

/// Work that waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waiting {
    /// How much.
    pub count: u64,
    /// Since when the oldest waits; `None` when there is none.
    pub oldest: Option<Ts>,
}

/// Jobs of one kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Jobs {
    pub kind: String,
    /// Those to be done; `oldest` is when the longest overdue one was due.
    pub due: Waiting,
    /// Those to be done, at this time or later.
    pub all: u64,
    /// Jobs that were given up; they stay visible for a while.
    pub ended: u64,
}

/// Everything that waits in the database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Jobs by kind.
    pub jobs: Vec<Jobs>,
    /// Accepted inventories that have not been compared yet.
    pub documents: Waiting,
    /// Inventories that could not be worked on.
    pub quarantined: u64,
    /// Pushes stored for tenants that a remote router does not run yet.
    pub held_pushes: Waiting,
    /// Tenants whose configuration is still to be pushed to a remote router.
    pub configurations: Waiting,
    /// Groups of alerts whose notification is overdue.
    pub groups: Waiting,
    /// Active alerts of the embedded router.
    pub alerts: u64,
    /// Pending and active silences of the embedded router.
    pub silences: u64,
    /// Recipients whose last notification failed.
    pub unreached: u64,
    /// Events that have no number yet.
    pub events: Waiting,
    /// Deliveries of events to enabled subscriptions; at most [`MOST`].
    pub deliveries: Waiting,
    /// Deliveries that were given up; at most [`MOST`].
    pub dead_deliveries: u64,
    /// Subscriptions of events.
    pub subscriptions: Subscriptions,
    /// Objects that are still to be synchronized to a Logto tenant.
    pub logto: LogtoBacklog,
}

/// Subscriptions of events by how they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Subscriptions {
    /// Enabled, and the last delivery succeeded.
    pub working: u64,
    /// Enabled, but recent tries have delivered nothing.
    pub failing: u64,
    /// Disabled, by a user or because deliveries failed.
    pub off: u64,
}

/// The work of Logto sync.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogtoBacklog {
    /// Objects that wait, tried already or not.
    pub waiting: Waiting,
    /// Of those, the ones that were tried in vain.
    pub retried: u64,
    /// Refused: they wait for the next change.
    pub refused: u64,
}

/// Rows of one kind that are counted only up to a limit, as there may be millions.
pub const MOST: i64 = 100_000;

const JOBS: &str = "SELECT j.kind, \
    SUM(CASE WHEN j.ended_at IS NULL AND j.next_at <= ? THEN CAST(1 AS BIGINT) ELSE 0 END)[[::bigint||]], \
    SUM(CASE WHEN j.ended_at IS NULL THEN CAST(1 AS BIGINT) ELSE 0 END)[[::bigint||]], \
    SUM(CASE WHEN j.ended_at IS NOT NULL THEN CAST(1 AS BIGINT) ELSE 0 END)[[::bigint||]], \
    MIN(CASE WHEN j.ended_at IS NULL AND j.next_at <= ? THEN j.next_at END) FROM (\
    SELECT w.kind, w.next_at, w.ended_at FROM (SELECT kind, next_at, ended_at FROM jobs WHERE ended_at IS NULL \
    ORDER BY ended_at, next_at LIMIT ?) w UNION ALL \
    SELECT e.kind, e.next_at, e.ended_at FROM (SELECT kind, next_at, ended_at FROM jobs WHERE ended_at IS NOT NULL \
    ORDER BY ended_at, next_at LIMIT ?) e) j GROUP BY j.kind";
const DOCUMENTS: &str = "SELECT COUNT(*), MIN(w.received_at) FROM (SELECT received_at \
    FROM inventory_queue WHERE quarantined_at IS NULL ORDER BY quarantined_at, id LIMIT ?) w";
const QUARANTINED: &str = "SELECT COUNT(*) FROM (SELECT id FROM inventory_queue \
    WHERE quarantined_at IS NOT NULL ORDER BY quarantined_at, id LIMIT ?) w";
const HELD_PUSHES: &str =
    "SELECT COUNT(*), MIN(w.queued_at) FROM (SELECT queued_at FROM alert_queue ORDER BY queued_at LIMIT ?) w";
const CONFIGURATIONS: &str = "SELECT COUNT(*), MIN(w.queued_at) FROM (SELECT queued_at \
    FROM alert_tenants WHERE next_attempt_at IS NOT NULL ORDER BY next_attempt_at LIMIT ?) w";
const GROUPS: &str = "SELECT COUNT(*), MIN(w.due_at) FROM (SELECT due_at FROM router_groups \
    WHERE started_at IS NULL AND due_at <= ? ORDER BY due_at LIMIT ?) w";
const ALERTS: &str = "SELECT COUNT(*) FROM router_alerts WHERE ends_at > ?";
const SILENCES: &str = "SELECT COUNT(*) FROM router_silences WHERE ends_at > ?";
const EVENTS: &str =
    "SELECT COUNT(*), MIN(w.at) FROM (SELECT x.at FROM event_outbox x ORDER BY x.id LIMIT ?) w";
const DELIVERIES: &str = "SELECT COUNT(*), MIN(w.created_at) FROM (SELECT d.created_at \
    FROM event_subscriptions s JOIN event_deliveries d ON d.subscription_id = s.id AND d.state = 'pending' \
    WHERE s.is_enabled ORDER BY d.subscription_id, d.event_seq + 0 LIMIT ?) w";
const DEAD_DELIVERIES: &str = "SELECT COUNT(*) FROM (SELECT d.event_seq FROM event_deliveries d \
    WHERE d.state = 'dead' ORDER BY d.subscription_id, d.event_seq + 0 LIMIT ?) w";
const SUBSCRIPTIONS: &str = "SELECT \
    SUM(CASE WHEN is_enabled AND failing_since IS NULL THEN CAST(1 AS BIGINT) ELSE 0 END)[[::bigint||]], \
    SUM(CASE WHEN is_enabled AND failing_since IS NOT NULL THEN CAST(1 AS BIGINT) ELSE 0 END)[[::bigint||]], \
    SUM(CASE WHEN is_enabled THEN 0 ELSE CAST(1 AS BIGINT) END)[[::bigint||]] FROM event_subscriptions";
const LOGTO: &str = "SELECT COUNT(*), MIN(COALESCE(w.queued_at, w.next_at)), \
    SUM(CASE WHEN w.problem IS NULL THEN 0 ELSE CAST(1 AS BIGINT) END)[[::bigint||]], (SELECT COUNT(*) FROM \
    (SELECT object_id FROM logto_outbox WHERE next_at IS NULL ORDER BY next_at LIMIT ?) r) \
    FROM (SELECT queued_at, next_at, problem FROM logto_outbox WHERE next_at IS NOT NULL ORDER BY next_at LIMIT ?) w";
const UNREACHED: &str =
    "SELECT COUNT(*) FROM (SELECT failed_at FROM router_failures ORDER BY failed_at LIMIT ?) w";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![
    JOBS,
    DOCUMENTS,
    QUARANTINED,
    HELD_PUSHES,
    CONFIGURATIONS,
    GROUPS,
    ALERTS,
    SILENCES,
    EVENTS,
    DELIVERIES,
    DEAD_DELIVERIES,
    SUBSCRIPTIONS,
    LOGTO,
    UNREACHED
];

type Counted = (i64, Option<TsCodec>);
type CountedSubscriptions = (Option<i64>, Option<i64>, Option<i64>);
type CountedMirror = (i64, Option<TsCodec>, Option<i64>, i64);
type CountedJobs = (String, i64, i64, i64, Option<TsCodec>);

/// Reads all figures once.
pub async fn work(db: &Db, now: Ts) -> Result<Work, StoreError> {
    let mut jobs: Vec<CountedJobs> =
        Q::by_index(JOBS).bind(now).bind(now).bind(MOST).bind(MOST).all(db).await?;
    jobs.sort_by(|a, b| a.0.cmp(&b.0));
    let jobs = jobs.into_iter().map(|(kind, due, all, ended, oldest)| Jobs {
        kind,
        due: backlog((due, oldest)),
        all: positive(all),
        ended: positive(ended),
    });
    let (working, failing, off): CountedSubscriptions = Q::new(SUBSCRIPTIONS).one(db).await?;
    let (mirrored, oldest, retried, refused): CountedMirror =
        Q::by_index(LOGTO).bind(MOST).bind(MOST).one(db).await?;
    // The router keeps its times as numbers on both engines.
    let number = now.0;
    Ok(Work {
        jobs: jobs.collect(),
        documents: backlog(Q::by_index(DOCUMENTS).bind(MOST).one(db).await?),
        quarantined: Q::by_index(QUARANTINED).bind(MOST).count(db).await?,
        held_pushes: backlog(Q::by_index(HELD_PUSHES).bind(MOST).one(db).await?),
        configurations: backlog(Q::by_index(CONFIGURATIONS).bind(MOST).one(db).await?),
        groups: backlog(Q::by_index(GROUPS).bind(now).bind(MOST).one(db).await?),
        alerts: Q::by_index(ALERTS).bind(number).count(db).await?,
        silences: Q::by_index(SILENCES).bind(number).count(db).await?,
        unreached: Q::by_index(UNREACHED).bind(MOST).count(db).await?,
        events: backlog(Q::by_index(EVENTS).bind(MOST).one(db).await?),
        deliveries: backlog(Q::by_index(DELIVERIES).bind(MOST).one(db).await?),
        dead_deliveries: Q::by_index(DEAD_DELIVERIES).bind(MOST).count(db).await?,
        subscriptions: Subscriptions {
            working: positive(working.unwrap_or(0)),
            failing: positive(failing.unwrap_or(0)),
            off: positive(off.unwrap_or(0)),
        },
        logto: LogtoBacklog {
            waiting: backlog((mirrored, oldest)),
            retried: positive(retried.unwrap_or(0)),
            refused: positive(refused),
        },
    })
}

fn backlog((count, oldest): Counted) -> Waiting {
    Waiting { count: positive(count), oldest: oldest.map(|at| at.0) }
}

fn positive(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}
