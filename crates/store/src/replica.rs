//! Reads from a streaming replica of PostgreSQL.
//!
//! A request may read from the replica once the replica has replayed everything that the primary had written when the request
//! asked ([`Db::has_replica_caught_up`]). So an answer includes every change that was committed before its request, as one
//! from the primary does. Only changes that a crash may lose ([`Db::begin_relaxed`]) can be missing for a moment.
//!
//! A request that cannot read from the replica any more, or that has written something, reads from the primary from then on and
//! never turns back: what it sees only moves forward.

use crate::{Db, StoreError, engine, sql::Q};
use bailiwick_domain::metrics::Counter;
use sqlx::{PgPool, Postgres, pool::PoolConnection};
use std::{
    future::Future,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};
use tokio::time::{error::Elapsed, sleep, timeout};

/// Longest time of a statement on the replica. Then the primary runs it.
pub(crate) const STATEMENT: Duration = Duration::from_secs(5);
/// Longest time until the replica answers the question how far it is.
const QUESTION: Duration = Duration::from_secs(1);
/// How long a request waits for the replica to catch up, and how often it asks.
const WAIT: Duration = Duration::from_millis(20);
const ASKS_EVERY: Duration = Duration::from_millis(2);
/// How long no request asks a replica that was behind for longer than [`WAIT`], and one that has failed.
const REST_BEHIND: Duration = Duration::from_secs(1);
const REST_LOST: Duration = Duration::from_secs(5);

/// Bytes of the log that a crash of the primary does not lose. A commit that waits for the disk is part of them before anyone
/// can read its changes.
const WRITTEN: &str =
    "[[SELECT CAST(pg_wal_lsn_diff(pg_current_wal_flush_lsn(), '0/0') AS BIGINT)||SELECT 0]]";
/// Bytes of the log that the replica has replayed. Nothing if the server is not a replica, or does not receive from a primary.
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

/// A streaming replica.
#[derive(Debug)]
pub(crate) struct Replica {
    pub(crate) pool: PgPool,
    /// One connection for the checks, so that they do not wait for requests.
    checks: PgPool,
    state: Mutex<State>,
    /// Checks after which requests read from it, and after which they did not.
    pub(crate) used: Counter,
    pub(crate) unused: Counter,
}

#[derive(Debug, Default)]
struct State {
    /// When it is asked again; unset while it is used.
    rests_until: Option<Instant>,
    /// Whether it was found to be a replica of the primary since it has last failed.
    is_known: bool,
    /// Whether the log says that it is not used.
    is_reported: bool,
}

impl Replica {
    /// Connects with the first use.
    pub(crate) fn new(options: &engine::Options, url: &str) -> Result<Replica, StoreError> {
        let connect = engine::connection(url)?;
        Ok(Replica {
            pool: engine::pool(options).connect_lazy_with(connect.clone()),
            checks: engine::pool(options).max_connections(1).connect_lazy_with(connect),
            state: Mutex::default(),
            used: Counter::default(),
            unused: Counter::default(),
        })
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes all connections.
    pub(crate) async fn close(&self) {
        self.pool.close().await;
        self.checks.close().await;
    }

    /// The present request reads from the primary from now on, and so do all others for some time if a connection was lost. A single
    /// statement can also fail: PostgreSQL cancels those that are in the way of the replay.
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
        let mut state = self.state();
        state.rests_until = Some(Instant::now() + REST_LOST);
        state.is_known = false;
        if !state.is_reported {
            state.is_reported = true;
            tracing::warn!(error = %fault, "reads come from the primary: the replica cannot be used");
        }
    }

    async fn ask<T: crate::sql::Row>(&self, statement: &str) -> Result<T, StoreError> {
        let late = |_| StoreError::Replica("does not answer in time");
        let mut lent = timeout(QUESTION, self.checks.acquire()).await.map_err(late)??;
        let answer = timeout(QUESTION, Q::new(statement).one_on(&mut lent)).await;
        finish(lent, answer)
    }

    /// Whether it has replayed everything that the primary has written by now, or does so soon.
    async fn catches_up(&self, primary: &Db) -> Result<bool, StoreError> {
        if !self.state().is_known {
            let of_primary: (i64,) = Q::new(CLUSTER).one(primary).await?;
            let own: (i64,) = self.ask(CLUSTER).await?;
            if of_primary != own {
                return Err(StoreError::Replica("is of another cluster"));
            }
            self.state().is_known = true;
        }
        let (written,): (i64,) = Q::new(WRITTEN).one(primary).await?;
        let begun = Instant::now();
        loop {
            let (replayed,): (Option<i64>,) = self.ask(REPLAYED).await?;
            let replayed = replayed.ok_or(StoreError::Replica("does not receive from a primary"))?;
            if replayed >= written {
                return Ok(true);
            }
            if begun.elapsed() >= WAIT {
                return Ok(false);
            }
            sleep(ASKS_EVERY).await;
        }
    }
}

/// The result of a statement. A connection on which one has not ended is closed, so that no other statement waits for it.
pub(crate) fn finish<T>(
    lent: PoolConnection<Postgres>,
    result: Result<Result<T, StoreError>, Elapsed>,
) -> Result<T, StoreError> {
    result.unwrap_or_else(|_| {
        drop(lent.detach());
        Err(StoreError::Replica("does not answer in time"))
    })
}

impl Db {
    /// Whether there is a replica that has replayed everything that the primary has written by now. The caller runs the request
    /// with [`Reads::from_replica`] if so.
    pub async fn has_replica_caught_up(&self) -> bool {
        let Some(replica) = &self.replica else { return false };
        let rests = replica.state().rests_until.is_some_and(|until| Instant::now() < until);
        let caught_up = match if rests { Ok(false) } else { replica.catches_up(self).await } {
            Ok(true) => {
                let mut state = replica.state();
                state.rests_until = None;
                if std::mem::take(&mut state.is_reported) {
                    tracing::info!("lists, exports and figures come from the replica again");
                }
                true
            }
            Ok(false) => {
                if !rests {
                    replica.state().rests_until = Some(Instant::now() + REST_BEHIND);
                }
                false
            }
            Err(fault) => {
                replica.lose(&fault);
                false
            }
        };
        if caught_up {
            replica.used.one()
        } else {
            replica.unused.one()
        }
        caught_up
    }

    /// Whether reads can come from a replica at all.
    pub const fn has_replica(&self) -> bool {
        self.replica.is_some()
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
