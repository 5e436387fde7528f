//! The handle of a database, and its write transactions.

use crate::{
    connection_waits::ConnectionWaits,
    engine::{self, Engine, Options},
    epoch::{AffectedSystems, CachedEpoch, Epoch, Move, PROPAGATION_DELAY},
    error::StoreError,
    list_epochs::{ListEpochs, MOVE_ACTIVE_ALERTS, MOVE_LISTS},
    shared_limits,
    sql::{
        Q,
        replica::{self, Replica},
    },
};
use bailiwick_domain::SystemId;
use sqlx::{PgPool, Postgres, SqlSafeStr as _, Sqlite, Transaction};
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tracing::{Span, field::Empty};
use uuid::Uuid;

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
        let pools: Arc<ConnectionWaits> = Arc::default();
        let engine = Engine::open(options, &pools).await?;
        let replica = options.read_url.as_deref().map(|url| Replica::new(options, url)).transpose()?;
        let replica = replica.map(Arc::new);
        Ok(Db { engine, epoch: Arc::new(Epoch::new()), pools, replica })
    }

    /// Whether this is PostgreSQL.
    pub const fn is_postgres(&self) -> bool {
        matches!(self.engine, Engine::Pg(_))
    }

    /// How long a statement waits for a free connection, and a request for a statement that it shares with others.
    pub fn longest_wait(&self) -> Duration {
        match &self.engine {
            Engine::Pg(pool) => pool.options().get_acquire_timeout(),
            Engine::Lite { read, .. } => read.options().get_acquire_timeout(),
        }
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
        self.begin_with("BEGIN", "PRAGMA synchronous = FULL; BEGIN IMMEDIATE").await
    }

    /// A transaction that a crash of the host may lose, as a whole but never in part: for heartbeats and derived rows.
    pub async fn begin_relaxed(&self) -> Result<Tx, StoreError> {
        // One message for both statements.
        let postgres = "BEGIN; SET LOCAL synchronous_commit = off";
        self.begin_with(postgres, "PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE").await
    }

    async fn begin_with(&self, postgres: &'static str, sqlite: &'static str) -> Result<Tx, StoreError> {
        let state = TxState::begin(self);
        match &self.engine {
            Engine::Pg(pool) => {
                let tx = self.pools.write(Box::pin(begin_cancel_safe(pool, postgres))).await?;
                Ok(Tx::Pg(tx, self.epoch.clone(), state))
            }
            Engine::Lite { write, .. } => {
                let tx = self.pools.write(Box::pin(write.begin_with(sqlite))).await?;
                Ok(Tx::Lite(tx, self.epoch.clone(), state))
            }
        }
    }

    /// The epoch of system credentials: what was read of a system before the last move that concerns it must be read
    /// again. From a read that starts after this call; on SQLite, where this process holds the database alone, without
    /// a read.
    pub async fn auth_epoch(&self) -> Result<i64, StoreError> {
        match &self.engine {
            Engine::Lite { .. } => Ok(self.epoch.number()),
            Engine::Pg(_) => {
                type Found = (i64, Option<i64>, Option<i64>, Option<Uuid>);
                let (began, since) = (Instant::now(), self.epoch.number());
                let rows: Vec<Found> = Q::new(READ_AUTH).bind(since).bind(MAX_CHANGES + 1).all(self).await?;
                let n = rows.first().map(|row| row.0).ok_or(StoreError::Misuse("no auth epoch"))?;
                // The last move may be cut off, so that they are not all known.
                let rows = if rows.len() > MAX_CHANGES as usize { Vec::new() } else { rows };
                let mut moves: Vec<Move> = Vec::new();
                for (_, before, n, system) in rows {
                    let (Some(before), Some(n), Some(system)) = (before, n, system.map(SystemId)) else {
                        break;
                    };
                    match moves.last_mut() {
                        Some(Move { n: last, concerns: AffectedSystems::Systems(ids), .. }) if *last == n => {
                            ids.push(system)
                        }
                        _ => moves.push(Move { before, n, concerns: AffectedSystems::Systems(vec![system]) }),
                    }
                }
                if self.epoch.read(began, since, n, &moves) {
                    self.read_refused().await;
                }
                Ok(n)
            }
        }
    }

    /// The epoch as far as it is known without asking the database; see [`crate::epoch`].
    pub fn known_auth_epoch(&self) -> CachedEpoch {
        match &self.engine {
            Engine::Lite { .. } => CachedEpoch::Fresh(self.epoch.number()),
            Engine::Pg(_) => self.epoch.cached(Instant::now()),
        }
    }

    /// Whether what was read of a system's credential at this epoch still counts: no later move that is known concerns
    /// the system. To be asked after [`Db::known_auth_epoch`] or [`Db::auth_epoch`].
    pub fn is_credential_current(&self, system: SystemId, read: i64) -> bool {
        self.epoch.holds(system, read)
    }

    /// Reads the refused pairs of address and credential, where this process may not have been notified of each.
    async fn read_refused(&self) {
        match shared_limits::refused(self, MAX_CHANGES).await {
            Ok(keys) => self.epoch.refused.note_all(keys),
            Err(error) => tracing::warn!(%error, "it is unknown which credentials other processes refuse"),
        }
    }

    /// Whether any pair of address and credential may be refused by other processes, as known after [`Db::auth_epoch`]
    /// or [`Db::known_auth_epoch`].
    pub fn is_any_refused(&self) -> bool {
        self.epoch.refused.is_any()
    }

    /// Whether this pair of address and credential may be refused elsewhere.
    pub fn may_be_refused(&self, key: Uuid) -> bool {
        self.epoch.refused.may_be(key)
    }

    /// Why PostgreSQL accepts no connection, with its address; the answer takes a second at most. None on SQLite, and
    /// while it accepts them.
    pub async fn connection_error(&self) -> Option<StoreError> {
        match &self.engine {
            Engine::Pg(pool) => engine::reach(&pool.connect_options(), Duration::from_secs(1)).await.err(),
            Engine::Lite { .. } => None,
        }
    }

    /// The error of the last transaction that the database could not write, if it is as recent as this.
    pub fn write_fault_within(&self, time: Duration) -> Option<String> {
        self.pools.faults.within(time)
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
                if let Err(error) = engine::optimize(write).await {
                    tracing::debug!(%error, "the statistics of the tables were not renewed");
                }
                read.close().await;
                write.close().await;
            }
        }
    }
}

/// Begins a transaction in a task of its own, once a connection is free. The driver counts a transaction only when
/// PostgreSQL has answered. If a caller were dropped before that answer, the pool would lend a connection with an open
/// transaction, and the next statements would run in it. The task waits for the answer, so dropping the transaction
/// rolls it back.
async fn begin_cancel_safe(
    pool: &PgPool,
    statement: &'static str,
) -> Result<Transaction<'static, Postgres>, sqlx::Error> {
    let connection = pool.acquire().await?;
    #[expect(clippy::disallowed_methods, reason = "as short as the statement, and waited for")]
    let begun = tokio::spawn(Transaction::begin(connection, Some(statement.into_sql_str())));
    begun.await.map_err(|_| sqlx::Error::WorkerCrashed)?
}

/// A write transaction.
#[derive(Debug)]
pub enum Tx {
    /// PostgreSQL; the process's knowledge of the auth epoch, and what the transaction knows.
    Pg(Transaction<'static, Postgres>, Arc<Epoch>, TxState),
    /// SQLite; with the same knowledge.
    Lite(Transaction<'static, Sqlite>, Arc<Epoch>, TxState),
}

const MOVE_ALERT_CONFIG: &str = "UPDATE alert_config_epoch SET n = n + 1 WHERE id = 1";
/// A number is never used twice, even when a crash or a failover takes the database back to an earlier state: otherwise
/// a process that has read the lost number would take its cached entries for valid again. On SQLite, the process that
/// has read it ends with the database.
const MOVE_AUTH: &str = "UPDATE auth_epoch SET n = \
     [[GREATEST(n + 1, CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT))||n + 1]] \
     WHERE id = 1 RETURNING n";

const HOLD_AUTH: &str = "SELECT n FROM auth_epoch WHERE id = 1 [[FOR UPDATE||]]";
/// The epoch, with the moves of single systems since a number, in order; one row of nulls when there are none.
const READ_AUTH: &str = "SELECT e.n, c.before, c.n, c.system_id FROM auth_epoch e \
     LEFT JOIN auth_changes c ON c.n > ? AND c.n <= e.n WHERE e.id = 1 ORDER BY c.n, c.system_id LIMIT ?";
/// Processes read the moves of the last ten minutes; one that has read none for longer reads everything again.
const FORGET_AUTH: &str = "DELETE FROM auth_changes WHERE n < ? - 600000000";
/// The most rows that are read or written at once. More of them concern all systems.
const MAX_CHANGES: i64 = 1_000;
/// One of so many moves removes old rows.
const PRUNE_EVERY: i64 = 50;

pub(crate) const STATEMENTS: &[(&str, &str)] =
    crate::sql::statements![MOVE_ALERT_CONFIG, MOVE_AUTH, HOLD_AUTH, READ_AUTH, FORGET_AUTH];

/// What a transaction knows until its end: the epochs that it moves, and whether it has failed.
#[derive(Debug)]
pub struct TxState {
    /// Moves of the auth epoch.
    auth: Vec<Move>,
    /// Whether the transaction takes rights away, so that every process must know before the answer is sent.
    revokes: bool,
    /// Which list epochs move with its commit: 1 or 0.
    pub(crate) lists: ListEpochs,
    /// Whether the epoch of alert configuration does.
    alert_config: bool,
    /// Whether an error of a statement has ended it, and if so, whether a retry can help.
    failed: Option<bool>,
    /// Where faults are counted.
    waits: Arc<ConnectionWaits>,
    /// The transaction in a trace, from the wait for it to its end.
    span: Span,
}

impl TxState {
    fn begin(db: &Db) -> TxState {
        let name = db.engine_name();
        let span = tracing::trace_span!("transaction", db.system.name = name, db.operation.name = Empty);
        TxState {
            auth: Vec::new(),
            revokes: false,
            lists: ListEpochs::default(),
            alert_config: false,
            failed: None,
            waits: db.pools.clone(),
            span,
        }
    }
}

impl Tx {
    /// Refuses what would follow a failed statement. SQLite may have rolled the transaction back, and would run every
    /// further statement by itself; PostgreSQL would answer a COMMIT as if it were one, and roll back.
    pub(crate) const fn check(&mut self) -> Result<(), StoreError> {
        match self.state_mut().failed {
            None => Ok(()),
            Some(passes) => Err(StoreError::Ended { passes }),
        }
    }

    /// Notes whether a statement has failed.
    pub(crate) fn note<T>(&mut self, done: Result<T, StoreError>) -> Result<T, StoreError> {
        if let Err(error) = &done {
            let state = self.state_mut();
            state.failed = Some(error.is_transient());
            state.waits.faults.note(error);
        }
        done
    }

    /// Commits all changes. The request reads them from the primary.
    pub async fn commit(mut self) -> Result<(), StoreError> {
        replica::leave();
        self.check()?;
        let lists = self.state_mut().lists;
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
        if self.state_mut().alert_config {
            Q::new(MOVE_ALERT_CONFIG).run(&mut self).await?;
        }
        self.state_mut().span.record("db.operation.name", "COMMIT");
        let waits = self.state_mut().waits.clone();
        self.end().await.inspect_err(|e| waits.faults.note(e))
    }

    async fn end(self) -> Result<(), StoreError> {
        match self {
            Tx::Pg(tx, epoch, moved) => {
                tx.commit().await?;
                moved.auth.iter().for_each(|own| epoch.note_move(own, false));
                if moved.revokes {
                    tokio::time::sleep(PROPAGATION_DELAY).await;
                }
                Ok(())
            }
            Tx::Lite(tx, epoch, TxState { auth, .. }) if !auth.is_empty() => {
                // A separate task: a caller that disconnects must not separate the commit from the epoch.
                #[expect(clippy::disallowed_methods, reason = "as short as the commit, and waited for")]
                let both = tokio::spawn(async move {
                    tx.commit().await?;
                    auth.iter().for_each(|own| epoch.note_move(own, true));
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
    pub async fn bump_auth_epoch(&mut self, concerns: AffectedSystems) -> Result<(), StoreError> {
        self.state_mut().revokes = true;
        self.note_auth_epoch(concerns).await
    }

    /// Moves the epoch for a change that takes no rights away: other processes learn of it within
    /// [`PROPAGATION_DELAY`], and the commit does not wait for them.
    pub async fn note_auth_epoch(&mut self, concerns: AffectedSystems) -> Result<(), StoreError> {
        if self.is_postgres() {
            // Also where the commit could be lost: another process may have read the number by then.
            Q::new("SET LOCAL synchronous_commit = on").run(&mut *self).await?;
        }
        let (before,): (i64,) = Q::new(HOLD_AUTH).one(&mut *self).await?;
        let (n,): (i64,) = Q::new(MOVE_AUTH).one(&mut *self).await?;
        // Where this process is the only one, it knows its own moves.
        if let AffectedSystems::Systems(ids) = &concerns
            && self.is_postgres()
        {
            for ids in ids.chunks(MAX_CHANGES as usize) {
                let mut q = Q::new("INSERT INTO auth_changes (n, before, system_id) VALUES ");
                for (at, id) in ids.iter().enumerate() {
                    q.push(if at == 0 { "(?, ?, ?)" } else { ", (?, ?, ?)" }).arg(n).arg(before).arg(*id);
                }
                q.push(" ON CONFLICT (n, system_id) DO NOTHING");
                q.run(&mut *self).await?;
            }
            if n % PRUNE_EVERY == 0 {
                Q::new(FORGET_AUTH).bind(n).run(&mut *self).await?;
            }
        }
        self.state_mut().auth.push(Move { before, n, concerns });
        Ok(())
    }

    /// To be called by every function that changes the receivers of an organization's alerts.
    pub(crate) const fn alert_config_changed(&mut self) {
        self.state_mut().alert_config = true;
    }

    pub(crate) const fn state_mut(&mut self) -> &mut TxState {
        match self {
            Tx::Pg(_, _, moved) | Tx::Lite(_, _, moved) => moved,
        }
    }
}
