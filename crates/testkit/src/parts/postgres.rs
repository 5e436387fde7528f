//! One throw-away PostgreSQL cluster per test process.
//!
//! The cluster is made with `initdb` in about a second, in memory where there is room, as a database for every test is
//! hundreds of small files. It does not secure its data (no fsync), and it sorts text by the rules of a language, as
//! most installed servers do, so that a statement that forgets to ask for bytewise order fails. Databases are
//! administered with PostgreSQL's own `psql`, so this crate needs no SQL library.

use super::{
    PartError, Result, ports,
    process::{Process, Stop},
    programs,
    scratch::{Scratch, fast_place},
};
use crate::{PATIENCE, cores};
use std::{
    ffi::OsString,
    io::{self, BufRead, BufReader, Lines, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStderr, ChildStdin, Stdio},
    sync::{Mutex, PoisonError},
    time::Instant,
};
use tokio::{process::Command, sync::OnceCell};

/// The variable that names an existing server to be used instead of a throw-away cluster, as a URL of a user who may
/// create databases: `postgres://user:password@host:5432/postgres`.
pub const SERVER_VARIABLE: &str = "BAILIWICK_TEST_POSTGRES_URL";

const PACKAGE: &str = "postgresql";
/// The superuser of the throw-away cluster.
const SUPERUSER: &str = "bailiwick";
/// The operating-system user that runs the server if the tests run as root, because PostgreSQL refuses to.
const SYSTEM_USER: &str = "postgres";

/// In the shared cluster: the tables are small, so every plan is good, and a test repeats its statements too seldom for
/// PostgreSQL to keep a plan by itself.
const ONE_PLAN: &str = "plan_cache_mode=force_generic_plan";

/// Of a cluster that has replicas: its log is complete, and a commit waits for it.
const REPLICATED: &[&str] =
    &["wal_level=replica", "max_wal_senders=4", "hot_standby=on", "synchronous_commit=on"];

/// A running PostgreSQL server on which databases can be created.
#[derive(Debug)]
pub struct Cluster {
    /// Address of the maintenance database.
    maintenance: url::Url,
    psql: PathBuf,
    /// None for a server that was there before.
    process: Option<Process>,
    /// Databases that are no longer needed.
    finished: Mutex<Vec<String>>,
    /// The session in the maintenance database, opened by the first statement.
    session: Mutex<Option<Session>>,
}

/// A `psql` that takes one statement after the other: starting one for each takes longer than creating a database.
///
/// Its pipes block, because those of tokio end with the runtime of the test that has opened them.
#[derive(Debug)]
struct Session {
    /// None once it is closed, which ends `psql`.
    statements: Option<ChildStdin>,
    complaints: Lines<BufReader<ChildStderr>>,
    process: Child,
}

impl Session {
    /// Written by `psql` behind the errors of each statement.
    const END: &str = "end of statement";

    fn start(psql: &Path, address: &str) -> io::Result<Self> {
        let mut psql = std::process::Command::new(psql);
        psql.args(["-Xq", "-d", address])
            .env("LC_ALL", "C")
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut process = cores::unpinned(|| psql.spawn())?;
        let complaints = process.stderr.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let statements = process.stdin.take();
        Ok(Self { statements, complaints: BufReader::new(complaints).lines(), process })
    }

    /// The errors of one statement, notices left out.
    fn run(&mut self, statement: &str) -> io::Result<Vec<String>> {
        let mut input = self.statements.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        input.write_all(format!("{statement};\n\\warn {}\n", Self::END).as_bytes())?;
        let mut errors = Vec::new();
        for line in self.complaints.by_ref() {
            match line? {
                line if line == Self::END => return Ok(errors),
                line if line.starts_with("NOTICE") => {}
                line => errors.push(line),
            }
        }
        Err(io::Error::other(format!("psql has ended: {}", errors.join("\n"))))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        drop(self.statements.take());
        let _ = self.process.wait();
    }
}

/// The cluster of this process, started by the first call and ended with the process.
///
/// # Errors
/// When PostgreSQL is missing or does not start; the text says what to do.
pub async fn cluster() -> Result<&'static Cluster> {
    static CLUSTER: OnceCell<Cluster> = OnceCell::const_new();
    CLUSTER
        .get_or_try_init(|| async {
            match programs::variable(SERVER_VARIABLE) {
                Some(address) => Cluster::existing(&address),
                None => Cluster::start_with(&[ONE_PLAN]).await,
            }
        })
        .await
}

impl Cluster {
    /// Starts a cluster of its own, which plans as a server in use does; most tests share [`cluster`].
    ///
    /// # Errors
    /// When PostgreSQL is missing or does not start.
    pub async fn start() -> Result<Self> {
        Self::start_with(&[]).await
    }

    /// Starts a cluster that [`replica`](Cluster::replica) can follow.
    ///
    /// # Errors
    /// When PostgreSQL is missing or does not start.
    pub async fn start_replicated() -> Result<Self> {
        Self::start_with(REPLICATED).await
    }

    /// Starts a streaming replica of this cluster at a port.
    ///
    /// # Errors
    /// When PostgreSQL does not start, or this cluster was not started with
    /// [`start_replicated`](Cluster::start_replicated).
    pub async fn replica(&self, port: u16) -> Result<Self> {
        let scratch = Scratch::new_in(fast_place().await, "replica")?;
        let prefix = other_user(&scratch).await?;
        let data = scratch.path().join("data");
        let mut copy: Vec<OsString> = vec!["--pgdata".into(), data.clone().into()];
        copy.extend(["--dbname", self.maintenance.as_str(), "--write-recovery-conf"].map(OsString::from));
        copy.extend(["--checkpoint=fast", "--no-sync"].map(OsString::from));
        run(&prefix, &program("pg_basebackup")?, copy).await?;
        Self::serve(scratch, &prefix, port, REPLICATED).await
    }

    async fn start_with(settings: &[&'static str]) -> Result<Self> {
        let scratch = Scratch::new_in(fast_place().await, "postgres")?;
        let prefix = other_user(&scratch).await?;
        run(&prefix, &program("initdb")?, init_arguments(&scratch.path().join("data"))).await?;
        Self::serve(scratch, &prefix, ports::spare()?, settings).await
    }

    /// Starts the server on the data in the directory.
    async fn serve(
        scratch: Scratch,
        prefix: &[OsString],
        port: u16,
        settings: &[&'static str],
    ) -> Result<Self> {
        let server = program("postgres")?;
        let psql = program("psql")?;
        let is_ready = program("pg_isready")?;
        let data = scratch.path().join("data");
        let (first, rest) = split(prefix, &server);
        let arguments = rest.into_iter().chain(server_arguments(&data, scratch.path(), port, settings));
        let process = Process::start(scratch, &first, arguments, Stop::Quit)?;
        let port_text = port.to_string();
        process
            .wait_until_ready(|| async {
                let mut question = Command::new(&is_ready);
                question.args(["-q", "-h", "127.0.0.1", "-p", &port_text]);
                question.status().await.is_ok_and(|status| status.success())
            })
            .await?;
        let address = format!("postgres://{SUPERUSER}@127.0.0.1:{port}/postgres");
        Ok(Self {
            maintenance: parse(&address)?,
            psql,
            process: Some(process),
            finished: Mutex::default(),
            session: Mutex::default(),
        })
    }

    /// A server that runs already.
    fn existing(address: &str) -> Result<Self> {
        Ok(Self {
            maintenance: parse(address)?,
            psql: program("psql")?,
            process: None,
            finished: Mutex::default(),
            session: Mutex::default(),
        })
    }

    /// The address of a database, for `database.url`.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        let mut url = self.maintenance.clone();
        url.set_path(database);
        url.into()
    }

    /// Creates a database, as a copy of `template` if one is given. The template may have no connections.
    ///
    /// # Errors
    /// When the name is not made of small letters, digits and `_`, or the server refuses.
    pub async fn create_database_from(&self, template: Option<&str>, name: &str) -> Result<()> {
        let name = checked(name)?;
        // Files are copied, not logged block by block (PostgreSQL 15 and later can do either). Without a template the
        // database is a copy of the empty one, so the content of template1 does not matter.
        let template = checked(template.unwrap_or("template0"))?;
        let finished = std::mem::take(&mut *self.finished.lock().unwrap_or_else(PoisonError::into_inner));
        for name in finished {
            if let Err(error) = self.execute(&removal(&name)).await {
                if !is_in_use(&error) {
                    return Err(error);
                }
                self.drop_later(name);
            }
        }
        let creation = format!("CREATE DATABASE \"{name}\" TEMPLATE \"{template}\" STRATEGY file_copy");
        let limit = Instant::now() + PATIENCE;
        loop {
            match self.execute(&creation).await {
                // The last connection to the template was closed, and its process has not ended yet.
                Err(error) if is_in_use(&error) && Instant::now() < limit => {}
                created => return created,
            }
        }
    }

    /// Has a database removed with the next creation of another one: `drop` cannot wait.
    pub fn drop_later(&self, name: String) {
        self.finished.lock().unwrap_or_else(PoisonError::into_inner).push(name);
    }

    /// Removes a database if it exists, closing its connections.
    ///
    /// # Errors
    /// When the name is not made of small letters, digits and `_`, or the server refuses.
    pub async fn drop_database(&self, name: &str) -> Result<()> {
        let name = checked(name)?;
        self.execute(&removal(name)).await
    }

    /// Runs one statement in the maintenance database.
    ///
    /// # Errors
    /// When the server refuses it; the text is the server's.
    pub async fn execute(&self, statement: &str) -> Result<()> {
        let failed = |error: io::Error| PartError::io("psql takes no statement", &error);
        let mut session = self.session.lock().unwrap_or_else(PoisonError::into_inner);
        let mut current = match session.take() {
            Some(current) => current,
            None => Session::start(&self.psql, self.maintenance.as_str()).map_err(failed)?,
        };
        // A session that failed is not used again.
        let errors = current.run(statement).map_err(failed)?;
        *session = Some(current);
        if errors.is_empty() { Ok(()) } else { Err(PartError::new(format!("psql: {}", errors.join("\n")))) }
    }

    /// Runs one statement in a database and returns its rows as lines, columns separated by `|`.
    ///
    /// # Errors
    /// When the server refuses it; the text is the server's.
    pub async fn query(&self, database: &str, statement: &str) -> Result<String> {
        let address = self.url(database);
        let arguments = ["-XqAt", "-v", "ON_ERROR_STOP=1", "-d", &address, "-c", statement];
        run(&[], &self.psql, arguments.map(OsString::from)).await
    }

    /// Sends a signal to every process of the throw-away server.
    ///
    /// # Errors
    /// When the server is not of this process, or has ended.
    pub async fn signal(&self, signal: &str) -> Result<()> {
        let process = self.process.as_ref().ok_or_else(|| PartError::new("not a throw-away server"))?;
        let file = process.directory().join("data/postmaster.pid");
        let text = std::fs::read_to_string(&file).map_err(|e| PartError::io("no server", &e))?;
        let pid = text.lines().next().unwrap_or_default().to_owned();
        // A process of the server may have ended meanwhile.
        let script =
            "for p in $(pgrep -P \"$2\"); do kill -s \"$1\" \"$p\" || true; done; kill -s \"$1\" \"$2\"";
        let arguments = ["-c", script, "signal", signal, &pid].map(OsString::from);
        run(&[], Path::new("/bin/sh"), arguments).await.map(drop)
    }

    /// The log of the throw-away server so far; empty for an existing server.
    #[must_use]
    pub fn log(&self) -> String {
        self.process.as_ref().map(Process::output).unwrap_or_default()
    }
}

/// Whether a database could not be copied or removed because it has connections. PostgreSQL says so after five seconds
/// in which it has waited for their end.
fn is_in_use(error: &PartError) -> bool {
    error.to_string().contains("is being accessed by other users")
}

fn removal(name: &str) -> String {
    format!("DROP DATABASE IF EXISTS \"{name}\" WITH (FORCE)")
}

fn parse(address: &str) -> Result<url::Url> {
    url::Url::parse(address).map_err(|error| PartError::new(format!("{SERVER_VARIABLE} is no URL: {error}")))
}

/// A program of PostgreSQL: the newest version in Debian's place under /usr/lib, or one on the `PATH`.
fn program(name: &str) -> Result<PathBuf> {
    let mut versions: Vec<(u32, PathBuf)> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    versions.sort();
    let directories: Vec<PathBuf> = versions.into_iter().rev().map(|(_, directory)| directory).collect();
    programs::find(&[name], PACKAGE, &directories)
}

/// The command that runs a program as PostgreSQL's own user if the tests run as root; gives that user the directory.
async fn other_user(scratch: &Scratch) -> Result<Vec<OsString>> {
    if !scratch.is_owned_by_root() {
        return Ok(Vec::new());
    }
    let chown = programs::find(&["chown"], "coreutils", &[])?;
    let arguments = [OsString::from(SYSTEM_USER), scratch.path().into()];
    run(&[], &chown, arguments).await?;
    let setpriv = programs::find(&["setpriv"], "util-linux", &[])?;
    let options =
        [&format!("--reuid={SYSTEM_USER}"), &format!("--regid={SYSTEM_USER}"), "--init-groups", "--"];
    Ok(std::iter::once(setpriv.into()).chain(options.map(OsString::from)).collect())
}

fn init_arguments(data: &Path) -> Vec<OsString> {
    let mut arguments: Vec<OsString> =
        ["--no-sync", "--auth=trust", "--encoding=UTF8", "--locale=C"].map(Into::into).into();
    arguments.extend(["--locale-provider=icu", "--icu-locale=en-US"].map(OsString::from));
    arguments.extend([format!("--username={SUPERUSER}").into(), "--pgdata".into(), data.into()]);
    arguments
}

fn server_arguments(data: &Path, sockets: &Path, port: u16, more: &[&'static str]) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = vec!["-D".into(), data.into(), "-k".into(), sockets.into()];
    arguments.extend(["-h", "127.0.0.1", "-p", &port.to_string()].map(OsString::from));
    // No data has to survive; tests that need statistics gather them themselves, not at random moments.
    let settings = [
        "fsync=off",
        "synchronous_commit=off",
        "full_page_writes=off",
        "wal_level=minimal",
        "max_wal_senders=0",
        "autovacuum=off",
        "max_connections=300",
        "shared_buffers=64MB",
        "max_wal_size=256MB",
    ];
    arguments.extend(settings.iter().chain(more).flat_map(|setting| ["-c".into(), setting.into()]));
    arguments
}

/// A database name that needs no quoting rules.
fn checked(name: &str) -> Result<&str> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    if (1..=63).contains(&name.len()) && name.chars().all(is_plain) {
        return Ok(name);
    }
    Err(PartError::new(format!("{name:?} is no database name: 1 to 63 small letters, digits and _")))
}

/// The program to start and its first arguments, when it is run through another program.
fn split(prefix: &[OsString], program: &Path) -> (PathBuf, Vec<OsString>) {
    match prefix.split_first() {
        Some((first, rest)) => (first.into(), rest.iter().cloned().chain([program.into()]).collect()),
        None => (program.to_owned(), Vec::new()),
    }
}

/// Runs a program to its end and returns its standard output.
async fn run(
    prefix: &[OsString],
    program: &Path,
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<String> {
    let (first, rest) = split(prefix, program);
    let name = program.display();
    let output = Command::new(first)
        .args(rest)
        .args(arguments)
        .env("LC_ALL", "C")
        .current_dir("/")
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(|error| PartError::io(&format!("cannot run {name}"), &error))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    Err(PartError::new(format!("{name}: {}", String::from_utf8_lossy(&output.stderr).trim_end())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_database_is_a_copy_of_its_template() {
        let cluster = cluster().await.unwrap();
        cluster.drop_database("parts_copy").await.unwrap();
        cluster.drop_database("parts_template").await.unwrap();
        cluster.create_database_from(None, "parts_template").await.unwrap();
        cluster.query("parts_template", "CREATE TABLE t AS SELECT 42 AS answer").await.unwrap();
        cluster.create_database_from(Some("parts_template"), "parts_copy").await.unwrap();
        assert_eq!(cluster.query("parts_copy", "SELECT answer FROM t").await.unwrap().trim(), "42");
        let error = cluster.create_database_from(None, "parts_copy").await.unwrap_err();
        assert!(error.to_string().contains("already exists"), "{error}");
        cluster.drop_database("parts_copy").await.unwrap();
        assert!(cluster.query("parts_copy", "SELECT 1").await.is_err());
        cluster.drop_database("parts_template").await.unwrap();
    }

    #[tokio::test]
    async fn a_cluster_of_its_own_ends_with_its_value() {
        let cluster = Cluster::start().await.unwrap();
        let order = "SELECT string_agg(x, ' ' ORDER BY x) FROM (VALUES ('B'), ('a'), ('b')) AS v (x)";
        assert_eq!(cluster.query("postgres", order).await.unwrap().trim(), "a b B", "language order");
        let port = cluster.maintenance.port().unwrap();
        let directory = cluster.process.as_ref().unwrap().directory().to_owned();
        drop(cluster);
        assert!(!directory.exists());
        assert!(std::net::TcpStream::connect(("127.0.0.1", port)).is_err());
    }

    #[test]
    fn names_that_would_need_quoting_are_refused() {
        assert!(checked("test_1").is_ok());
        for name in ["", "a\"b", "A", "a b", &"x".repeat(64)] {
            assert!(checked(name).is_err(), "{name:?}");
        }
    }
}
