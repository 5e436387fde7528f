//! The handle of a database, and its write transactions.

use crate::{
    connection_waits::ConnectionWaits,
    engine::{Engine, Options},
    epoch::{Epoch, Known, SETTLES},
    error::StoreError,
    list_epochs::{ListEpochs, MOVE_ACTIVE_ALERTS, MOVE_LISTS},
    sql::{
        Q,
        replica::{self, Replica},
    },
};
use sqlx::{Postgres, Sqlite, Transaction};
use std::{sync::Arc, time::Instant};
use tracing::{Span, field::Empty};

/// A database: SQLite file or PostgreSQL. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Db {
    pub(crate) engine: Engine,
    /// The process's knowledge of the [auth epoch](Db::auth_epoch).
    epoch: Arc<Epoch>,
    /// Waits for connections.
    pub(crate) pools: Arc<ConnectionWaits>,
    /// The replica of PostgreSQL, if there is one.
    pub(crate) replica: Option<Arc<Replica>>,
}

impl Db {
    /// Opens the database and creates a missing SQLite file; does not migrate.
    pub async fn open(options: &Options) -> Result<Db, StoreError> {
        let engine = Engine::open(options).await?;
        let replica = options.read_url.as_deref().map(|url| Replica::new(options, url)).transpose()?;
        let replica = replica.map(Arc::new);
        Ok(Db { engine, epoch: Arc::new(Epoch::new()), pools: Arc::default(), replica })
    }

    /// Whether this is PostgreSQL.
    pub const fn is_postgres(&self) -> bool {
        matches!(self.engine, Engine::Pg(_))
    }

    /// As OpenTelemetry calls it.
    const fn engine_name(&self) -> &'static str {
        if self.is_postgres() { "postgresql" } else { "sqlite" }
    }

    /// A statement outside of transactions, in a trace, until it is dropped.
    pub(crate) fn query_span(&self) -> Span {
        tracing::trace_span!("query", db.system.name = self.engine_name())
    }

    /// Starts a write transaction. Dropping it rolls back; only [`Tx::commit`] keeps its changes.
    pub async fn begin(&self) -> Result<Tx, StoreError> {
        let moved = EpochsMoved::traced(self);
        match &self.engine {
            Engine::Pg(pool) => {
                let begun = Box::pin(pool.begin());
                Ok(Tx::Pg(self.pools.write(begun).await?, self.epoch.clone(), moved))
            }
            Engine::Lite { write, .. } => {
                let begun = write.begin_with("PRAGMA synchronous = FULL; BEGIN IMMEDIATE");
                let tx = self.pools.write(Box::pin(begun)).await?;
                Ok(Tx::Lite(tx, self.epoch.clone(), moved))
            }
        }
    }

    /// A transaction that a crash of the host may lose, as a whole but never in part: for heartbeats and derived rows.
    pub async fn begin_relaxed(&self) -> Result<Tx, StoreError> {
        let moved = EpochsMoved::traced(self);
        match &self.engine {
            Engine::Pg(pool) => {
                // One message for both.
                let begun = pool.begin_with("BEGIN; SET LOCAL synchronous_commit = off");
                let tx = self.pools.write(Box::pin(begun)).await?;
                Ok(Tx::Pg(tx, self.epoch.clone(), moved))
            }
            Engine::Lite { write, .. } => {
                let begun = write.begin_with("PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE");
                let tx = self.pools.write(Box::pin(begun)).await?;
                Ok(Tx::Lite(tx, self.epoch.clone(), moved))
            }
        }
    }

    /// Answers when the database does.
    pub async fn ping(&self) -> Result<(), StoreError> {
        Q::new("SELECT CAST(1 AS BIGINT)").one::<(i64,)>(self).await.map(|_| ())
    }

    /// The epoch of system credentials: everything read before its last move must be read again. From a read that
    /// starts after this call; on SQLite, where this process holds the database alone, without a read.
    pub async fn auth_epoch(&self) -> Result<i64, StoreError> {
        match &self.engine {
            Engine::Lite { .. } => Ok(self.epoch.number()),
            Engine::Pg(_) => {
                let began = Instant::now();
                let (n,): (i64,) = Q::new("SELECT n FROM auth_epoch WHERE id = 1").one(self).await?;
                self.epoch.read(began, n);
                Ok(n)
            }
        }
    }

    /// The epoch as far as it is known without asking the database; see [`crate::epoch`].
    pub fn known_auth_epoch(&self) -> Known {
        match &self.engine {
            Engine::Lite { .. } => Known::Fresh(self.epoch.number()),
            Engine::Pg(_) => self.epoch.known(Instant::now()),
        }
    }

    /// Closes all connections; SQLite folds its write-ahead log into the file.
    pub async fn close(&self) {
        match &self.engine {
            Engine::Pg(pool) => {
                pool.close().await;
                if let Some(replica) = &self.replica {
                    replica.close().await;
                }
            }
            Engine::Lite { write, read, .. } => {
                read.close().await;
                write.close().await;
            }
        }
    }
}

/// A write transaction.
#[derive(Debug)]
pub enum Tx {
    /// PostgreSQL; the process's knowledge of the auth epoch, and the epochs this transaction moves.
    Pg(Transaction<'static, Postgres>, Arc<Epoch>, EpochsMoved),
    /// The same on SQLite.
    Lite(Transaction<'static, Sqlite>, Arc<Epoch>, EpochsMoved),
}

const MOVE_ALERT_CONFIG: &str = "UPDATE alert_config_epoch SET n = n + 1 WHERE id = 1";
/// A number is never used twice, even when a crash or a failover takes the database back to an earlier state: otherwise
/// a process that has read the lost number would take its cached entries for valid again. On SQLite, the process that
/// has read it ends with the database.
const MOVE_AUTH: &str = "UPDATE auth_epoch SET n = \
     [[GREATEST(n + 1, CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT))||n + 1]] \
     WHERE id = 1 RETURNING n";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![MOVE_ALERT_CONFIG, MOVE_AUTH];

/// The epochs a transaction moves.
#[derive(Debug)]
pub struct EpochsMoved {
    /// The auth epoch that it has set.
    auth: Option<i64>,
    /// Whether the transaction takes rights away, so that every process must know before the answer is sent.
    revokes: bool,
    /// Which list epochs move with its commit: 1 or 0.
    pub(crate) lists: ListEpochs,
    /// Whether the epoch of alert configuration does.
    alert_config: bool,
    /// The transaction in a trace, from the wait for it to its end.
    span: Span,
}

impl EpochsMoved {
    fn traced(db: &Db) -> EpochsMoved {
        let name = db.engine_name();
        let span = tracing::trace_span!("transaction", db.system.name = name, db.operation.name = Empty);
        EpochsMoved { auth: None, revokes: false, lists: ListEpochs::default(), alert_config: false, span }
    }
}

impl Tx {
    /// Commits all changes. The request reads them from the primary.
    pub async fn commit(mut self) -> Result<(), StoreError> {
        replica::leave();
        let lists = self.moved().lists;
        if (ListEpochs { active_alerts: 0, ..lists }) != ListEpochs::default() {
            if self.is_postgres() {
                // Otherwise a number lost in a crash would be used for another state.
                Q::new("SET LOCAL synchronous_commit = on").run(&mut self).await?;
            }
            // Last of all: a transaction that waits for this row then holds no lock that the transaction before it
            // still needs.
            let q = Q::new(MOVE_LISTS).bind(lists.people).bind(lists.figures).bind(lists.logins);
            let q = q
                .bind(lists.systems)
                .bind(lists.statuses)
                .bind(lists.applications)
                .bind(lists.application_texts);
            q.run(&mut self).await?;
        }
        if lists.active_alerts > 0 {
            Q::new(MOVE_ACTIVE_ALERTS).run(&mut self).await?;
        }
        if self.moved().alert_config {
            Q::new(MOVE_ALERT_CONFIG).run(&mut self).await?;
        }
        self.moved().span.record("db.operation.name", "COMMIT");
        match self {
            Tx::Pg(tx, epoch, moved) => {
                tx.commit().await?;
                if let Some(n) = moved.auth {
                    epoch.moved(n);
                }
                if moved.revokes {
                    tokio::time::sleep(SETTLES).await;
                }
                Ok(())
            }
            Tx::Lite(tx, epoch, EpochsMoved { auth: Some(n), .. }) => {
                // A separate task: a caller that disconnects must not separate the commit from the epoch.
                #[expect(clippy::disallowed_methods, reason = "as short as the commit, and waited for")]
                let both = tokio::spawn(async move {
                    tx.commit().await?;
                    epoch.moved(n);
                    Ok(())
                });
                both.await.map_err(|_| StoreError::Misuse("the process ends"))?
            }
            Tx::Lite(tx, ..) => Ok(tx.commit().await?),
        }
    }

    /// Whether this is PostgreSQL.
    pub const fn is_postgres(&self) -> bool {
        matches!(self, Tx::Pg(..))
    }

    /// To be called by every transaction that can change the rights of a system's credential. Its commit returns when
    /// every process knows ([`crate::epoch`]). Writers of the one row wait for each other, so the order of epochs is
    /// the order of commits.
    pub async fn bump_auth_epoch(&mut self) -> Result<(), StoreError> {
        self.moved().revokes = true;
        self.note_auth_epoch().await
    }

    /// The same for a change that takes no rights away: other processes learn of it within
    /// [`COUNTS`](crate::epoch::COUNTS), and the commit does not wait for them.
    pub async fn note_auth_epoch(&mut self) -> Result<(), StoreError> {
        if self.is_postgres() {
            // Also where the commit could be lost: another process may have read the number by then.
            Q::new("SET LOCAL synchronous_commit = on").run(&mut *self).await?;
        }
        let (n,): (i64,) = Q::new(MOVE_AUTH).one(&mut *self).await?;
        self.moved().auth = Some(n);
        Ok(())
    }

    /// To be called by every function that changes the receivers of an organization's alerts.
    pub(crate) const fn alert_config_changed(&mut self) {
        self.moved().alert_config = true;
    }

    pub(crate) const fn moved(&mut self) -> &mut EpochsMoved {
        match self {
            Tx::Pg(_, _, moved) | Tx::Lite(_, _, moved) => moved,
        }
    }
}
