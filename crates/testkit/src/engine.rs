//! A database for each test: a copy of a migrated SQLite file, or a PostgreSQL database cloned from a template.

use crate::{
    ManualClock, PATIENCE, SeededEntropy,
    parts::{
        postgres,
        scratch::{Scratch, fast_place},
    },
};
use bailiwick_app::App;
use bailiwick_domain::{Clock, Entropy};
use bailiwick_policy::Catalogue;
use bailiwick_settings::Settings;
use bailiwick_store::{Db, Options};
use std::{
    path::PathBuf,
    sync::Arc,
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};
use tokio::sync::OnceCell;

/// Storage engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// A file.
    Sqlite,
    /// A database in a throw-away cluster.
    Postgres,
}

static SQLITE: OnceCell<(Scratch, PathBuf)> = OnceCell::const_new();
static POSTGRES: OnceCell<&'static str> = OnceCell::const_new();
static NUMBER: AtomicU32 = AtomicU32::new(0);

/// The owner's password in every test database.
pub const OWNER_PASSWORD: &str = "Correct-Horse-7-Battery";

/// The settings of every test before the test changes them.
pub fn settings() -> Settings {
    let mut settings =
        Settings::defaults("http://127.0.0.1:8080", b"a secret of thirty-two bytes or so".to_vec());
    settings.owner.email = "owner@example.org".to_owned();
    settings.owner.password = Some(bailiwick_platform::Secret::new(OWNER_PASSWORD.to_owned()));
    // The least that argon2 takes: a real hash costs as much as all else in many tests.
    settings.limits.password_hash_kib = 8;
    // A test calls the check itself. The one in the background goes by real time, and would meet it in a test that a
    // busy machine makes long.
    settings.systems.check_interval = Duration::from_secs(3600);
    // On a busy machine no commit is late.
    (settings.systems.heartbeat_wait, settings.systems.inventory_wait) = (PATIENCE, PATIENCE);
    // Time that a test skips does not count as an outage, unless the test changes this.
    settings.alerting.short_outage = Duration::MAX;
    settings
}

/// The place of a test's database; removed when the test no longer uses it.
#[derive(Debug)]
pub(crate) enum Kept {
    File { _in: Scratch },
    Database { of: &'static postgres::Cluster, name: String },
}

impl Drop for Kept {
    fn drop(&mut self) {
        if let Kept::Database { of, name } = self {
            of.drop_later(std::mem::take(name));
        }
    }
}

/// An opened, migrated database with its owner, its place and its address.
pub(crate) async fn database(engine: Engine) -> (Db, Arc<Kept>, String) {
    match engine {
        Engine::Sqlite => {
            let (_, template) = SQLITE.get_or_init(sqlite_template).await;
            let dir = scratch().await;
            let path = dir.path().join("test.db");
            std::fs::copy(template, &path).expect("a copy of the template");
            let url = format!("sqlite:{}", path.display());
            (open(&url).await, Arc::new(Kept::File { _in: dir }), url)
        }
        Engine::Postgres => {
            let template = POSTGRES.get_or_init(postgres_template).await;
            let cluster = postgres::cluster().await.unwrap_or_else(|e| panic!("{e}"));
            let name = format!("t{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
            cluster.create_database_from(Some(template), &name).await.expect("a database from the template");
            let url = cluster.url(&name);
            (open(&url).await, Arc::new(Kept::Database { of: cluster, name }), url)
        }
    }
}

/// Opens another handle, as a second process would. Every PostgreSQL connection reads the catalogue and plans its
/// statements anew, which is most of the time of a test, so a handle has only two.
pub(crate) async fn open(url: &str) -> Db {
    let options = Options { connections: 2, acquire: PATIENCE, ..Options::new(url) };
    Db::open(&options).await.expect("the database opens")
}

async fn scratch() -> Scratch {
    Scratch::new_in(fast_place().await, "sqlite").expect("a directory")
}

async fn sqlite_template() -> (Scratch, PathBuf) {
    let dir = scratch().await;
    let path = dir.path().join("template.db");
    prepare(&format!("sqlite:{}", path.display())).await;
    (dir, path)
}

async fn postgres_template() -> &'static str {
    let name: &'static str = Box::leak(format!("template_{}", std::process::id()).into_boxed_str());
    let cluster = postgres::cluster().await.unwrap_or_else(|e| panic!("{e}"));
    cluster.create_database_from(None, name).await.expect("a template database");
    prepare(&cluster.url(name)).await;
    name
}

/// The service on a database.
pub(crate) fn build(
    settings: Settings,
    db: Db,
    clock: Arc<dyn Clock>,
    entropy: Arc<dyn Entropy>,
    catalogue: Catalogue,
) -> App {
    App::new(settings, db, clock, entropy, catalogue).expect("the settings are complete")
}

async fn prepare(url: &str) {
    let db = open(url).await;
    db.migrate().await.expect("the migrations apply");
    let (clock, entropy) = (Arc::new(ManualClock::new()), Arc::new(SeededEntropy::new(1)));
    let app = build(settings(), db.clone(), clock, entropy, Catalogue::built_in().clone());
    bailiwick_app::operator::ensure_owner(&app).await.expect("an owner");
    drop(app);
    db.close().await;
}
