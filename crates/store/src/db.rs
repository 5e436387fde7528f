//! The two engines behind one handle.

use crate::{
    catalogue,
    epoch::{Epoch, Known, SETTLES},
    error::StoreError,
    list_epochs::{ListEpochs, MOVE_LISTS},
    sql::Q,
    waits::ConnectionWaits,
};
use sqlx::{
    AssertSqlSafe, Connection as _, PgConnection, PgPool, Postgres, Sqlite, SqlitePool, Transaction,
    postgres::{PgConnectOptions, PgPoolOptions},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use std::{
    fs::File,
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    str::FromStr,
    sync::Arc,
    time::{Duration, Instant},
};
use tracing::{Span, field::Empty};

/// A database: SQLite file or PostgreSQL. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Db {
    pub(crate) engine: Engine,
    /// What this process knows of the [auth epoch](Db::auth_epoch).
    epoch: Arc<Epoch>,
    /// Waits for connections.
    pub(crate) pools: Arc<ConnectionWaits>,
}

#[derive(Clone, Debug)]
pub(crate) enum Engine {
    Pg(PgPool),
    Lite {
        /// One connection: SQLite has one writer, and waiting here is fairer than its busy handler.
        write: SqlitePool,
        read: SqlitePool,
        /// Held while this process serves; none for in-memory and command-line use.
        _lock: Option<Arc<File>>,
    },
}

/// How a database is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// `sqlite:PATH` or `postgres://…`.
    pub url: String,
    /// Connections for reads (SQLite) or in all (PostgreSQL).
    pub connections: u32,
    /// True when this process serves: a SQLite file is then locked for it alone.
    pub exclusive: bool,
    /// How long a statement waits for a free connection (that of SQLite's one writer twice as long).
    pub acquire: Duration,
}

impl Options {
    /// The defaults of a serving process.
    pub fn new(url: impl Into<String>) -> Options {
        Options { url: url.into(), connections: 16, exclusive: false, acquire: Duration::from_secs(5) }
    }
}

impl Db {
    /// Opens the database and creates a missing SQLite file; does not migrate.
    pub async fn open(options: &Options) -> Result<Db, StoreError> {
        let engine = if options.url.starts_with("postgres") {
            Engine::Pg(open_postgres(options).await?)
        } else {
            open_sqlite(options).await?
        };
        Ok(Db { engine, epoch: Arc::new(Epoch::new()), pools: Arc::default() })
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

    /// Starts a write transaction. Dropping it rolls back; [`Tx::commit`] is the only way to keep anything.
    pub async fn begin(&self) -> Result<Tx, StoreError> {
        let moved = Moved::traced(self);
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

    /// A transaction whose commit may be lost by a crash of the host (never half of it): heartbeats, derived rows.
    pub async fn begin_relaxed(&self) -> Result<Tx, StoreError> {
        let moved = Moved::traced(self);
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

    /// The epoch of system credentials: whatever was read before it last moved must be read again. From a read that
    /// starts after this call; on SQLite, which this process holds alone, without one.
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
            Engine::Pg(pool) => pool.close().await,
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
    /// PostgreSQL; what the process knows of the auth epoch, and what this transaction moves.
    Pg(Transaction<'static, Postgres>, Arc<Epoch>, Moved),
    /// The same on SQLite.
    Lite(Transaction<'static, Sqlite>, Arc<Epoch>, Moved),
}

pub(crate) const MOVE_ALERT_CONFIG: &str = "UPDATE alert_config_epoch SET n = n + 1 WHERE id = 1";
/// A number is never given out twice, not even when the database has gone back to an earlier state by a crash or a
/// failover: what processes keep under a number that they have read meanwhile would count again. On SQLite whoever has
/// read it goes down with the database.
pub(crate) const MOVE_AUTH: &str = "UPDATE auth_epoch SET n = \
     [[GREATEST(n + 1, CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000000 AS BIGINT))||n + 1]] \
     WHERE id = 1 RETURNING n";

/// What must be read again after a transaction.
#[derive(Debug)]
pub struct Moved {
    /// The auth epoch that it has set.
    auth: Option<i64>,
    /// Whether that takes rights away, so that every process must know before the answer is sent.
    revokes: bool,
    /// Which list epochs move with its commit: 1 or 0.
    pub(crate) lists: ListEpochs,
    /// Whether the epoch of alert configuration does.
    alert_config: bool,
    /// The transaction in a trace, from the wait for it to its end.
    span: Span,
}

impl Moved {
    fn traced(db: &Db) -> Moved {
        let name = db.engine_name();
        let span = tracing::trace_span!("transaction", db.system.name = name, db.operation.name = Empty);
        Moved { auth: None, revokes: false, lists: ListEpochs::default(), alert_config: false, span }
    }
}

impl Tx {
    /// Keeps everything.
    pub async fn commit(mut self) -> Result<(), StoreError> {
        let ListEpochs { people, figures, logins, systems, statuses } = self.moved().lists;
        if people + figures + logins + systems + statuses > 0 {
            if self.is_postgres() {
                // A number that a crash takes back would be given to another state.
                Q::new("SET LOCAL synchronous_commit = on").run(&mut self).await?;
            }
            // Last of all: who waits for this row holds nothing that the one before him still wants.
            let q = Q::new(MOVE_LISTS).bind(people).bind(figures).bind(logins);
            q.bind(systems).bind(statuses).run(&mut self).await?;
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
            Tx::Lite(tx, epoch, Moved { auth: Some(n), .. }) => {
                // A task of its own: who no longer waits for the answer must not part the commit from the epoch.
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

    /// To be called by every transaction that can change what a system's credential may do. Its commit ends when every
    /// process knows ([`crate::epoch`]).
    /// Writers of the one row wait for each other, so the order of epochs is the order of commits.
    pub async fn bump_auth_epoch(&mut self) -> Result<(), StoreError> {
        self.moved().revokes = true;
        self.note_auth_epoch().await
    }

    /// The same for what takes nothing away from anybody: other processes find it out within
    /// [`COUNTS`](crate::epoch::COUNTS), and nobody waits for that.
    pub async fn note_auth_epoch(&mut self) -> Result<(), StoreError> {
        if self.is_postgres() {
            // Also where the commit could be lost: somebody may have read the number by then.
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

    pub(crate) const fn moved(&mut self) -> &mut Moved {
        match self {
            Tx::Pg(_, _, moved) | Tx::Lite(_, _, moved) => moved,
        }
    }
}

async fn open_postgres(options: &Options) -> Result<PgPool, StoreError> {
    let connect = PgConnectOptions::from_str(&options.url)?
        .application_name("bailiwick")
        .statement_cache_capacity(500)
        .options([
            ("statement_timeout", "30s"),
            ("timezone", "UTC"),
            ("default_transaction_isolation", "read committed"),
            // Every statement reads few rows by index; compiling one whose cost is overestimated takes fifty times
            // longer than running it.
            ("jit", "off"),
        ]);
    reach(&connect).await?;
    Ok(PgPoolOptions::new()
        .max_connections(options.connections)
        .acquire_timeout(options.acquire)
        .test_before_acquire(false)
        .connect_with(connect)
        .await?)
}

/// Tries one connection, as long as a database may take that starts beside the service: a pool does not tell why it has
/// none.
async fn reach(connect: &PgConnectOptions) -> Result<(), StoreError> {
    const MOST: Duration = Duration::from_secs(5);
    let mut last = None;
    let tries = async {
        loop {
            match PgConnection::connect_with(connect).await {
                Err(error) if is_passing(&error) => last = Some(error),
                tried => return tried,
            }
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
    };
    let tried = tokio::time::timeout(MOST, tries).await;
    let why = match (tried, last) {
        (Ok(Ok(connection)), _) => {
            // It was good for finding out.
            let _ = connection.close().await;
            return Ok(());
        }
        (Ok(Err(error)), _) | (Err(_), Some(error)) => plain(&error),
        (Err(_), None) => format!("no answer within {} s", MOST.as_secs()),
    };
    let socket = connect.get_socket().map(|path| path.display().to_string());
    let host = socket.unwrap_or_else(|| connect.get_host().to_owned());
    let database = connect.get_database().unwrap_or(connect.get_username());
    let address =
        format!("{host}, port {}, database {database} as {}", connect.get_port(), connect.get_username());
    Err(StoreError::NotReached { address, why })
}

/// Whether a server that is starting may say so.
fn is_passing(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(e) => e.kind() == io::ErrorKind::ConnectionRefused,
        // It starts, or it ends.
        sqlx::Error::Database(e) => e.code().is_some_and(|code| code == "57P03"),
        _ => false,
    }
}

/// The cause alone, without what our library says around it.
fn plain(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Io(e) => e.to_string(),
        sqlx::Error::Database(e) => e.message().to_owned(),
        other => other.to_string(),
    }
}

async fn open_sqlite(options: &Options) -> Result<Engine, StoreError> {
    let path = PathBuf::from(options.url.trim_start_matches("sqlite:").trim_start_matches("//"));
    if let Some(dir) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
        // Other users of this machine must not read the database.
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
        made.map_err(|e| unusable(dir, &sqlx::Error::Io(e)))?;
    }
    let lock = if options.exclusive { Some(Arc::new(lock_file(&path)?)) } else { None };
    // SQLite would make it for everybody to read where the umask allows that; its other files take the mode of this one.
    if !path.exists() {
        private_file(&path)?;
    }
    let connect = SqliteConnectOptions::new()
        .filename(&path)
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full)
        .foreign_keys(true)
        .busy_timeout(Duration::from_secs(10))
        .statement_cache_capacity(500)
        .pragma("temp_store", "memory")
        // Most of what is read is read from the page cache of the system; a cache of our own holds the rest, in KiB.
        .pragma("mmap_size", "268435456")
        .pragma("cache_size", "-8192");
    let write = SqlitePoolOptions::new()
        .max_connections(1)
        .acquire_timeout(options.acquire * 2)
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_with(connect.clone().optimize_on_close(true, 400))
        .await
        .map_err(|e| unusable(&path, &e))?;
    forget_statistics(&write).await?;
    let read = SqlitePoolOptions::new()
        .max_connections(options.connections.clamp(1, 4))
        // Each has a thread, which would keep to the core of the worker that started it; so they are there from the start.
        .min_connections(options.connections.clamp(1, 4))
        .idle_timeout(None)
        .max_lifetime(None)
        .acquire_timeout(options.acquire)
        .test_before_acquire(false)
        .connect_with(connect.pragma("cache_size", "-4096").read_only(true).create_if_missing(false))
        .await
        .map_err(|e| unusable(&path, &e))?;
    Ok(Engine::Lite { write, read, _lock: lock })
}

/// Names the file that is in the way.
fn unusable(path: &Path, error: &sqlx::Error) -> StoreError {
    let mut why = plain(error);
    let is_locked_away = match error {
        sqlx::Error::Io(e) => {
            matches!(e.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
        }
        // SQLITE_CANTOPEN, SQLITE_READONLY and their kin.
        sqlx::Error::Database(e) => {
            e.code().is_some_and(|code| matches!(&*code, "14" | "8" | "1544" | "776"))
        }
        _ => false,
    };
    if is_locked_away {
        why.push_str("; the user who runs the program must be able to write there");
    }
    StoreError::File { path: path.display().to_string(), why }
}

/// What was believed of queues when the file was closed last; without it SQLite reads them by index.
async fn forget_statistics(write: &SqlitePool) -> Result<(), StoreError> {
    let count = async |text: String| sqlx::query_scalar::<_, i64>(AssertSqlSafe(text)).fetch_one(write).await;
    if count("SELECT COUNT(*) FROM sqlite_schema WHERE name = 'sqlite_stat1'".to_owned()).await? == 0 {
        return Ok(());
    }
    let of_queues = format!("FROM sqlite_stat1 WHERE tbl IN ('{}')", catalogue::QUEUES.join("', '"));
    // Looked for first, so that a reader does not wait for a writer.
    if count(format!("SELECT COUNT(*) {of_queues}")).await? > 0 {
        sqlx::query(AssertSqlSafe(format!("DELETE {of_queues}"))).execute(write).await?;
        sqlx::query("ANALYZE sqlite_schema").execute(write).await?;
    }
    Ok(())
}

/// A file to write, created with access for its owner only.
fn private_file(path: &Path) -> Result<File, StoreError> {
    let opened = File::options().create(true).truncate(false).write(true).mode(0o600).open(path);
    opened.map_err(|e| unusable(path, &sqlx::Error::Io(e)))
}

/// Takes the lock that lets one process trust its memory (see [`Db::auth_epoch`]); it is held as long as the file.
///
/// # Errors
/// [`StoreError::Locked`] while another process serves this database.
pub fn lock_file(database: &Path) -> Result<File, StoreError> {
    let mut path = database.as_os_str().to_owned();
    path.push(".lock");
    let file = private_file(Path::new(&path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(std::fs::TryLockError::WouldBlock) => Err(StoreError::Locked(format!(
            "{} is served by another process; SQLite allows one, use PostgreSQL for several",
            database.display()
        ))),
        Err(std::fs::TryLockError::Error(e)) => Err(unusable(Path::new(&path), &sqlx::Error::Io(e))),
    }
}
