//! Figures for whoever watches the service: waits for connections, and how much work waits since when.

use crate::{Db, StoreError, db::Engine, sql::Q, time::TsCodec};
use bailiwick_domain::{
    Ts,
    meter::{Counter, Histogram, Times, WAITS},
};
use std::{future::Future, pin::Pin, time::Instant};

/// Waits for connections, of all clones of a [`Db`].
#[derive(Debug)]
pub struct Pools {
    read: Histogram,
    write: Histogram,
    failed: Counter,
}

impl Default for Pools {
    fn default() -> Pools {
        Pools { read: Histogram::new(&WAITS), write: Histogram::new(&WAITS), failed: Counter::default() }
    }
}

/// On the heap: every statement's future would carry its size.
type Lent<'f, T> = Pin<Box<dyn Future<Output = Result<T, sqlx::Error>> + Send + 'f>>;

impl Pools {
    pub(crate) async fn read<T>(&self, lent: Lent<'_, T>) -> Result<T, sqlx::Error> {
        let asked = Instant::now();
        let lent = lent.await;
        self.note(&self.read, asked, lent.is_err());
        lent
    }

    pub(crate) async fn write<T>(&self, begun: Lent<'_, T>) -> Result<T, sqlx::Error> {
        let asked = Instant::now();
        let begun = begun.await;
        self.note(&self.write, asked, begun.is_err());
        begun
    }

    fn note(&self, waits: &Histogram, asked: Instant, has_failed: bool) {
        waits.note(asked.elapsed());
        if has_failed {
            self.failed.one();
        }
    }
}

/// How many connections a pool has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// `all` on PostgreSQL; `read` and `write` on SQLite.
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
    /// Waits for a transaction to begin; on SQLite for one's turn at writing.
    pub write: Times,
    /// How often none was had.
    pub failed: u64,
}

impl Db {
    /// The connections of this process.
    pub fn connections(&self) -> Connections {
        let pools = match &self.engine {
            Engine::Pg(pool) => vec![of("all", pool)],
            Engine::Lite { write, read, .. } => vec![of("read", read), of("write", write)],
        };
        let waits = &self.pools;
        Connections { pools, read: waits.read.read(), write: waits.write.read(), failed: waits.failed.get() }
    }
}

fn of<D: sqlx::Database>(name: &'static str, pool: &sqlx::Pool<D>) -> Pool {
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
    /// Since when the oldest of it; `None` when there is none.
    pub oldest: Option<Ts>,
}

/// Jobs of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jobs {
    /// The kind.
    pub kind: String,
    /// Those to be done; `oldest` is when the longest overdue one was due.
    pub due: Waiting,
    /// Those to be done, at this time or later.
    pub all: u64,
    /// Those given up, which stay for a while to be seen.
    pub ended: u64,
}

/// Everything that waits in the database.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Jobs by kind.
    pub jobs: Vec<Jobs>,
    /// Accepted inventories that nobody has compared yet.
    pub documents: Waiting,
    /// Inventories that could not be worked on.
    pub quarantined: u64,
    /// Pushes kept for tenants that a remote router does not run yet.
    pub held_pushes: Waiting,
    /// Tenants whose configuration a remote router is still to be given.
    pub configurations: Waiting,
    /// Groups of alerts whose notification is overdue.
    pub groups: Waiting,
    /// Active alerts of the embedded router.
    pub alerts: u64,
    /// Pending and active silences of the embedded router.
    pub silences: u64,
    /// Recipients whose last notification failed.
    pub unreached: u64,
}

pub(crate) const JOBS: &str = "SELECT kind, \
    SUM(CASE WHEN ended_at IS NULL AND next_at <= ? THEN CAST(1 AS BIGINT) ELSE 0 END)[[::bigint||]], \
    SUM(CASE WHEN ended_at IS NULL THEN CAST(1 AS BIGINT) ELSE 0 END)[[::bigint||]], \
    SUM(CASE WHEN ended_at IS NOT NULL THEN CAST(1 AS BIGINT) ELSE 0 END)[[::bigint||]], \
    MIN(CASE WHEN ended_at IS NULL AND next_at <= ? THEN next_at END) FROM jobs GROUP BY kind ORDER BY kind";
pub(crate) const DOCUMENTS: &str =
    "SELECT COUNT(*), MIN(received_at) FROM inventory_queue WHERE quarantined_at IS NULL";
pub(crate) const QUARANTINED: &str = "SELECT COUNT(*) FROM inventory_queue WHERE quarantined_at IS NOT NULL";
pub(crate) const HELD_PUSHES: &str = "SELECT COUNT(*), MIN(queued_at) FROM alert_queue";
pub(crate) const CONFIGURATIONS: &str =
    "SELECT COUNT(*), MIN(next_attempt_at) FROM alert_tenants WHERE next_attempt_at <= ?";
pub(crate) const GROUPS: &str =
    "SELECT COUNT(*), MIN(due_at) FROM router_groups WHERE started_at IS NULL AND due_at <= ?";
pub(crate) const ALERTS: &str = "SELECT COUNT(*) FROM router_alerts WHERE ends_at > ?";
pub(crate) const SILENCES: &str = "SELECT COUNT(*) FROM router_silences WHERE ends_at > ?";
pub(crate) const UNREACHED: &str = "SELECT COUNT(*) FROM router_failures";

type Counted = (i64, Option<TsCodec>);
type CountedJobs = (String, i64, i64, i64, Option<TsCodec>);

/// Looks at everything once.
pub async fn work(db: &Db, now: Ts) -> Result<Work, StoreError> {
    let jobs: Vec<CountedJobs> = Q::new(JOBS).bind(now).bind(now).all(db).await?;
    let jobs = jobs.into_iter().map(|(kind, due, all, ended, oldest)| Jobs {
        kind,
        due: waiting((due, oldest)),
        all: positive(all),
        ended: positive(ended),
    });
    // The router keeps its times as numbers on both engines.
    let number = now.0;
    Ok(Work {
        jobs: jobs.collect(),
        documents: waiting(Q::new(DOCUMENTS).one(db).await?),
        quarantined: Q::new(QUARANTINED).count(db).await?,
        held_pushes: waiting(Q::new(HELD_PUSHES).one(db).await?),
        configurations: waiting(Q::new(CONFIGURATIONS).bind(now).one(db).await?),
        groups: waiting(Q::new(GROUPS).bind(now).one(db).await?),
        alerts: Q::new(ALERTS).bind(number).count(db).await?,
        silences: Q::new(SILENCES).bind(number).count(db).await?,
        unreached: Q::new(UNREACHED).count(db).await?,
    })
}

fn waiting((count, oldest): Counted) -> Waiting {
    Waiting { count: positive(count), oldest: oldest.map(|at| at.0) }
}

fn positive(n: i64) -> u64 {
    u64::try_from(n).unwrap_or(0)
}
