//! The two engines: opens a SQLite file or a connection pool of PostgreSQL.

use crate::{connection_waits::ConnectionWaits, error::StoreError};
use sqlx::{
    AssertSqlSafe, Connection as _, Executor as _, PgConnection, PgPool, SqliteConnection, SqlitePool,
    pool::PoolConnectionMetadata,
    postgres::{PgConnectOptions, PgPoolOptions},
    sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous},
};
use std::{
    fs::File,
    io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
    pin::Pin,
    str::FromStr,
    sync::Arc,
    time::Duration,
};

/// The page cache of SQLite's writing connection: KiB, negative, as `PRAGMA cache_size` takes them.
pub(crate) const WRITE_CACHE: &str = "-8192";

/// Tables used as queues (claimed, leased or swept): their statistics are never true for long.
pub const QUEUES: &[&str] = &[
    "inventory_queue",
    "inventory_alerts",
    "jobs",
    "leases",
    "alert_queue",
    "alert_tenants",
    "alert_history",
    "alert_activity",
    "router_alerts",
    "router_silences",
    "router_tenants",
    "router_groups",
    "router_notices",
    "router_failures",
    "event_outbox",
    "events",
    "event_subscriptions",
    "event_deliveries",
    "logto_outbox",
    "mail_links",
    "import_sessions",
    "shared_limits",
];

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
    /// Address of a streaming replica of that PostgreSQL; see [`crate::sql::replica`].
    pub read_url: Option<String>,
    /// Connections for reads (SQLite) or in all (PostgreSQL).
    pub connections: u32,
    /// True when this process serves: a SQLite file is then locked for it alone.
    pub exclusive: bool,
    /// How long a statement waits for a free connection (that of SQLite's one writer twice as long), and a request for
    /// a statement that it shares with others.
    pub acquire: Duration,
}

impl Options {
    /// The defaults of a serving process.
    pub fn new(url: impl Into<String>) -> Options {
        let acquire = Duration::from_secs(5);
        Options { url: url.into(), read_url: None, connections: 16, exclusive: false, acquire }
    }
}

impl Engine {
    /// Opens the database of the options; creates a missing SQLite file.
    pub(crate) async fn open(options: &Options, waits: &Arc<ConnectionWaits>) -> Result<Engine, StoreError> {
        if options.url.starts_with("postgres") {
            Ok(Engine::Pg(open_postgres(options).await?))
        } else {
            open_sqlite(options, waits.clone()).await
        }
    }
}

async fn open_postgres(options: &Options) -> Result<PgPool, StoreError> {
    let connect = connection(&options.url)?;
    reach(&connect, START).await?;
    Ok(pool(options).connect_with(connect).await?)
}

/// A pool of connections to PostgreSQL.
pub(crate) fn pool(options: &Options) -> PgPoolOptions {
    PgPoolOptions::new()
        .max_connections(options.connections)
        .acquire_timeout(options.acquire)
        .test_before_acquire(false)
}

/// A connection to PostgreSQL, on which statements are cancelled after 30 s.
pub(crate) fn connection(url: &str) -> Result<PgConnectOptions, StoreError> {
    let connect = PgConnectOptions::from_str(url)?
        .application_name("bailiwick")
        .statement_cache_capacity(500)
        .options([
            ("statement_timeout", "30s"),
            // Not that a table of migrations is there already.
            ("client_min_messages", "warning"),
            ("timezone", "UTC"),
            ("default_transaction_isolation", "read committed"),
            // Every statement reads few rows by index. With an overestimated cost, compiling it would take fifty times
            // longer than running it.
            ("jit", "off"),
            // PostgreSQL would make room for the repeated lookups of all rows of a table; a page repeats few of them.
            ("enable_memoize", "off"),
        ]);
    Ok(connect)
}

/// How long a database may take that starts together with the service.
const START: Duration = Duration::from_secs(5);

/// Tries one connection for this time. A pool does not report why it has no connection.
pub(crate) async fn reach(connect: &PgConnectOptions, time: Duration) -> Result<(), StoreError> {
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
    let tried = tokio::time::timeout(time, tries).await;
    let why = match (tried, last) {
        (Ok(Ok(connection)), _) => {
            // The connection was only a test.
            let _ = connection.close().await;
            return Ok(());
        }
        (Ok(Err(error)), _) | (Err(_), Some(error)) => plain(&error),
        (Err(_), None) => format!("no answer within {} s", time.as_secs()),
    };
    let socket = connect.get_socket().map(|path| path.display().to_string());
    let host = socket.unwrap_or_else(|| connect.get_host().to_owned());
    let database = connect.get_database().unwrap_or(connect.get_username());
    let address =
        format!("{host}, port {}, database {database} as {}", connect.get_port(), connect.get_username());
    Err(StoreError::NotReached { address, why })
}

/// Whether this error is typical of a server that is starting.
fn is_passing(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(e) => e.kind() == io::ErrorKind::ConnectionRefused,
        // It starts, or it ends.
        sqlx::Error::Database(e) => e.code().is_some_and(|code| code == "57P03"),
        _ => false,
    }
}

/// The cause alone, without the words our library puts around it.
fn plain(error: &sqlx::Error) -> String {
    match error {
        sqlx::Error::Io(e) => e.to_string(),
        sqlx::Error::Database(e) => e.message().to_owned(),
        other => other.to_string(),
    }
}

async fn open_sqlite(options: &Options, waits: Arc<ConnectionWaits>) -> Result<Engine, StoreError> {
    let path = PathBuf::from(options.url.trim_start_matches("sqlite:").trim_start_matches("//"));
    if let Some(dir) = path.parent().filter(|d| !d.as_os_str().is_empty()) {
        // Other users of this machine must not read the database.
        let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(dir);
        made.map_err(|e| unusable(dir, &sqlx::Error::Io(e)))?;
    }
    let lock = if options.exclusive { Some(Arc::new(lock_file(&path)?)) } else { None };
    // SQLite would create it readable for all users where the umask allows that; its other files take the mode of this
    // one.
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
        // Reads come from the page cache of the operating system, from the first 2 GiB of the file without a system
        // call; SQLite's own cache, in KiB, serves the rest.
        .pragma("mmap_size", "2147418112")
        .pragma("cache_size", WRITE_CACHE);
    let write = SqlitePoolOptions::new()
        .max_connections(1)
        .after_release(reopening(waits))
        .acquire_timeout(options.acquire * 2)
        .test_before_acquire(false)
        .idle_timeout(None)
        .max_lifetime(None)
        .connect_with(connect.clone())
        .await
        .map_err(|e| unusable(&path, &e))?;
    forget_statistics(&write).await?;
    let read = SqlitePoolOptions::new()
        .max_connections(options.connections.clamp(1, 4))
        // Each connection has a thread, which would stay on the core of the worker that started it; so all are opened
        // at the start.
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

/// Whether a connection that was given back is lent again. Otherwise it is closed, and the next one is opened anew.
type Kept<'c> = Pin<Box<dyn Future<Output = Result<bool, sqlx::Error>> + Send + 'c>>;

/// Has SQLite's writing connection opened anew after a fault.
///
/// On a full disk or an I/O error SQLite rolls the transaction back by itself. The ROLLBACK that follows fails, and the
/// driver goes on counting the transaction: none can begin on this connection any more. After other faults it may be
/// one that can only read.
fn reopening(
    waits: Arc<ConnectionWaits>,
) -> impl for<'c> Fn(&'c mut SqliteConnection, PoolConnectionMetadata) -> Kept<'c> {
    move |connection, _| {
        let has_failed = waits.faults.take_new();
        Box::pin(async move {
            if connection.is_in_transaction() {
                // Waits for the rollback that was only begun.
                connection.ping().await?;
            }
            Ok(!has_failed && !connection.is_in_transaction())
        })
    }
}

/// Renews the statistics that have become wrong, before the file is closed.
pub(crate) async fn optimize(write: &SqlitePool) -> Result<(), sqlx::Error> {
    write.execute("PRAGMA analysis_limit = 400; PRAGMA optimize").await.map(drop)
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

/// Removes the statistics of queues from the last time the file was open; without them SQLite reads queues by index.
async fn forget_statistics(write: &SqlitePool) -> Result<(), StoreError> {
    let count = async |text: String| sqlx::query_scalar::<_, i64>(AssertSqlSafe(text)).fetch_one(write).await;
    if count("SELECT COUNT(*) FROM sqlite_schema WHERE name = 'sqlite_stat1'".to_owned()).await? == 0 {
        return Ok(());
    }
    let of_queues = format!("FROM sqlite_stat1 WHERE tbl IN ('{}')", QUEUES.join("', '"));
    // Checked first, so that a reader does not wait for a writer.
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

/// Takes the lock that allows one process to trust its memory (see [`Db::auth_epoch`](crate::Db::auth_epoch)). The lock
/// lasts as long as the file is open.
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
