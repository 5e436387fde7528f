//! Reads from a streaming replica of PostgreSQL.
//!
//! A request may read from the replica once the replica has replayed everything that the primary had written when the
//! request asked ([`Db::has_replica_caught_up`]). So an answer includes every change that was committed before its
//! request, as one from the primary does. Only changes that a crash may lose ([`Db::begin_relaxed`]) can be missing for
//! a moment.
//!
//! A request that cannot read from the replica any more, or that has written something, reads from the primary from
//! then on and never turns back: what it sees only moves forward.

use super::Q;
use crate::{Db, StoreError, engine};
use bailiwick_domain::metrics::Counter;
use sqlx::{
    Connection as _, PgConnection, PgPool, Postgres, pool::PoolConnection, postgres::PgConnectOptions,
};
use std::{
    future::Future,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use tokio::time::{error::Elapsed, sleep, timeout};

/// Longest time of a statement on the replica. Then the primary runs it. The replica ends it a little later by itself.
pub(crate) const STATEMENT: Duration = Duration::from_secs(5);
const STATEMENT_OPTION: &str = "6s";
/// Longest wait for a connection, and for the answer to the question how far the replica is.
const QUESTION: Duration = Duration::from_secs(1);
/// How long a request waits for the replica to catch up, and how often it asks.
const WAIT: Duration = Duration::from_millis(20);
const ASKS_EVERY: Duration = Duration::from_millis(2);
/// How long a replica that was behind for longer than [`WAIT`] is not asked, and one that has failed.
const REST_BEHIND: Duration = Duration::from_secs(1);
const REST_LOST: Duration = Duration::from_secs(5);

/// Bytes of the log that a crash of the primary does not lose. A commit that waits for the disk is part of them before
/// anyone can read its changes. Where the server is configured not to wait, all bytes count.
const WRITTEN: &str = "[[SELECT CAST(pg_wal_lsn_diff(CASE current_setting('synchronous_commit') \
     WHEN 'off' THEN pg_current_wal_insert_lsn() ELSE pg_current_wal_flush_lsn() END, '0/0') AS BIGINT)||SELECT 0]]";
/// Bytes of the log that the replica has replayed. Nothing if the server is not a replica, or does not receive from a
/// primary.
const REPLAYED: &str = "[[SELECT CASE WHEN pg_is_in_recovery() AND EXISTS (SELECT 1 FROM pg_stat_wal_receiver) \
     THEN CAST(pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0') AS BIGINT) END||SELECT 0]]";
/// A number that a cluster has in common with its replicas alone.
const CLUSTER: &str = "[[SELECT system_identifier FROM pg_control_system()||SELECT 0]]";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![WRITTEN, REPLAYED, CLUSTER];

tokio::task_local! {
    /// Whether the present request reads from the replica.
    static FROM_REPLICA: Arc<AtomicBool>;
}

/// Where the present request reads from.
#[derive(Clone, Debug, Default)]
pub struct Reads(Option<Arc<AtomicBool>>);

impl Reads {
    /// From the replica, for as long as that is possible.
    pub fn from_replica() -> Reads {
        Reads(Some(Arc::new(AtomicBool::new(true))))
    }

    /// As the present request does; for the parts of its answer that are made later.
    pub fn of_request() -> Reads {
        Reads(FROM_REPLICA.try_with(Arc::clone).ok())
    }

    /// Runs a request, or a part of it.
    pub async fn run<T>(&self, request: impl Future<Output = T>) -> T {
        match &self.0 {
            Some(from_replica) => FROM_REPLICA.scope(from_replica.clone(), request).await,
            None => request.await,
        }
    }
}

/// Whether the present request reads from the replica.
pub fn is_read() -> bool {
    FROM_REPLICA.try_with(|from_replica| from_replica.load(Relaxed)).unwrap_or(false)
}

/// The present request reads from the primary from now on.
pub fn leave() {
    // Without a request everything comes from the primary anyway.
    let _ = FROM_REPLICA.try_with(|from_replica| from_replica.store(false, Relaxed));
}

/// What is known about the replica.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// There is none.
    Missing,
    /// Requests read from it, each after a check.
    Used,
    /// It was behind, or has failed, a short time ago.
    Resting,
    /// The caller is to check whether it can be used again, without a request that waits for that.
    Due,
}

/// A streaming replica.
#[derive(Debug)]
pub(crate) struct Replica {
    pub(crate) pool: PgPool,
    /// The connection for checks, which do not wait for requests. None until it has turned out to lead to a replica of
    /// the primary.
    checks: tokio::sync::Mutex<Option<PgConnection>>,
    connect: PgConnectOptions,
    rest: Mutex<Rest>,
    /// How many requests that only read have read from it, and how many from the primary.
    pub(crate) used: Counter,
    pub(crate) unused: Counter,
}

#[derive(Debug)]
struct Rest {
    /// When it is asked again; none while it is used.
    until: Option<Instant>,
    /// Whether the log says that it cannot be used.
    is_reported: bool,
}

impl Replica {
    /// Connects with the first use.
    pub(crate) fn new(options: &engine::Options, url: &str) -> Result<Replica, StoreError> {
        let connect = engine::connection(url)?.options([("statement_timeout", STATEMENT_OPTION)]);
        Ok(Replica {
            pool: engine::pool(options).connect_lazy_with(connect.clone()),
            checks: tokio::sync::Mutex::default(),
            connect,
            rest: Mutex::new(Rest { until: Some(Instant::now()), is_reported: false }),
            used: Counter::default(),
            unused: Counter::default(),
        })
    }

    fn rest(&self) -> std::sync::MutexGuard<'_, Rest> {
        self.rest.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn connection(&self) -> Result<PoolConnection<Postgres>, StoreError> {
        let connection = timeout(QUESTION, self.pool.acquire()).await;
        Ok(connection.map_err(|_| StoreError::Replica("has no free connection"))??)
    }

    /// Closes all connections.
    pub(crate) async fn close(&self) {
        self.pool.close().await;
        drop(self.checks.lock().await.take());
    }

    /// The present request reads from the primary from now on, and so do all others for some time if a connection was
    /// lost. A single statement can also fail: PostgreSQL cancels those that are in the way of the replay.
    pub(crate) fn leave(&self, fault: &StoreError) {
        leave();
        let is_lost = match fault {
            StoreError::Sql(sqlx::Error::Database(e)) => {
                e.code().is_some_and(|code| code.starts_with("57P") || code.starts_with("08"))
            }
            StoreError::Sql(e) => {
                matches!(e, sqlx::Error::Io(_) | sqlx::Error::Tls(_) | sqlx::Error::Protocol(_))
            }
            _ => false,
        };
        if is_lost {
            self.lose(fault);
        }
    }

    fn lose(&self, fault: &StoreError) {
        let was_reported = {
            let mut rest = self.rest();
            rest.until = Some(Instant::now() + REST_LOST);
            std::mem::replace(&mut rest.is_reported, true)
        };
        if !was_reported {
            tracing::warn!(error = %fault, "reads come from the primary: the replica cannot be used");
        }
        // Other connections to it are lost as well.
        while let Some(idle) = self.pool.try_acquire() {
            drop(idle.detach());
        }
    }

    /// Connects for checks.
    async fn connect(&self, primary: i64) -> Result<PgConnection, StoreError> {
        let mut connection = PgConnection::connect_with(&self.connect).await?;
        let (own,): (i64,) = Q::new(CLUSTER).one_on(&mut connection).await?;
        if own == primary { Ok(connection) } else { Err(StoreError::Replica("is of another cluster")) }
    }

    /// Whether it has replayed everything that the primary has written by now, or does so soon. None if the primary
    /// does not answer.
    async fn catches_up(&self, primary: &Db) -> Result<Option<bool>, StoreError> {
        let late = |_| StoreError::Replica("does not answer in time");
        let mut checks = self.checks.lock().await;
        let mut connection = match checks.take() {
            Some(connection) => connection,
            None => {
                let Ok((cluster,)) = Q::new(CLUSTER).one::<(i64,)>(primary).await else { return Ok(None) };
                timeout(QUESTION, self.connect(cluster)).await.map_err(late)??
            }
        };
        let Ok((written,)) = Q::new(WRITTEN).one::<(i64,)>(primary).await else { return Ok(None) };
        let begun = Instant::now();
        let caught_up = loop {
            let answer = timeout(QUESTION, Q::new(REPLAYED).one_on(&mut connection)).await;
            let (replayed,): (Option<i64>,) = answer.map_err(late)??;
            let replayed = replayed.ok_or(StoreError::Replica("does not receive from a primary"))?;
            if replayed >= written || begun.elapsed() >= WAIT {
                break replayed >= written;
            }
            sleep(ASKS_EVERY).await;
        };
        *checks = Some(connection);
        Ok(Some(caught_up))
    }
}

/// The result of a statement. A connection on which one has not ended is closed, so that no other statement waits for
/// it.
pub(crate) fn finish<T>(
    connection: PoolConnection<Postgres>,
    result: Result<Result<T, StoreError>, Elapsed>,
) -> Result<T, StoreError> {
    result.unwrap_or_else(|_| {
        drop(connection.detach());
        Err(StoreError::Replica("does not answer in time"))
    })
}

impl Db {
    /// Whether requests read from the replica at present.
    pub fn replica_state(&self) -> State {
        let Some(replica) = &self.replica else { return State::Missing };
        let (mut rest, now) = (replica.rest(), Instant::now());
        match rest.until {
            None => State::Used,
            Some(until) if now < until => State::Resting,
            Some(_) => {
                // Only one caller checks.
                rest.until = Some(now + REST_LOST);
                State::Due
            }
        }
    }

    /// Whether the replica has replayed everything that the primary has written by now. If so, the caller runs the
    /// request with [`Reads::from_replica`]. If not, requests do not ask again for some time.
    pub async fn has_replica_caught_up(&self) -> bool {
        let Some(replica) = &self.replica else { return false };
        match replica.catches_up(self).await {
            Ok(Some(true)) => {
                let was_reported = {
                    let mut rest = replica.rest();
                    rest.until = None;
                    std::mem::take(&mut rest.is_reported)
                };
                if was_reported {
                    tracing::info!("requests that only read use the replica again");
                }
                return true;
            }
            Ok(_) => replica.rest().until = Some(Instant::now() + REST_BEHIND),
            Err(fault) => replica.lose(&fault),
        }
        false
    }

    /// Counts a request that only reads.
    pub fn note_reader(&self, from_replica: bool) {
        if let Some(replica) = &self.replica {
            if from_replica { replica.used.one() } else { replica.unused.one() }
        }
    }

    /// The replica, if the present request reads from it.
    pub(crate) fn replica_of_request(&self) -> Option<&Replica> {
        self.replica.as_deref().filter(|_| is_read())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_request_that_leaves_the_replica_does_not_turn_back() {
        assert!(!is_read());
        let reads = Reads::from_replica();
        let later = reads
            .run(async {
                assert!(is_read());
                let later = Reads::of_request();
                leave();
                assert!(!is_read());
                later
            })
            .await;
        later.run(async { assert!(!is_read(), "a later part of the answer knows it too") }).await;
        Reads::from_replica().run(async { assert!(is_read(), "other requests do not mind") }).await;
        Reads::default().run(async { assert!(!is_read()) }).await;
    }
}
