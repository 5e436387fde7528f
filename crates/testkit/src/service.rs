//! The service under test.

use crate::{Call, Engine, ManualClock, SeededEntropy, engine};
use axum::Router;
use bailiwick_app::App;
use bailiwick_policy::Catalogue;
use bailiwick_settings::{ObjectLocation, Settings};
use bailiwick_store::Tx;
use http::Method;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

/// The whole service on a database of its own.
#[derive(Debug)]
pub struct Test {
    /// Use cases, settings, storage.
    pub app: App,
    /// The clock of the service; stands still.
    pub clock: Arc<ManualClock>,
    /// Randomness of the service.
    pub entropy: Arc<SeededEntropy>,
    /// Storage engine.
    pub engine: Engine,
    /// Address of the database, for a second process on it.
    pub database_url: String,
    /// Processes on the database so far. Each draws other ids: with the same ones, two rows would meet in one key.
    processes: Arc<AtomicU64>,
    has_background: bool,
    router: Router,
    kept: Arc<engine::Kept>,
    _assets: Option<tempfile::TempDir>,
}

impl Test {
    /// A fresh service, after `change` has adapted its settings.
    pub async fn start(engine: Engine, change: fn(&mut Settings)) -> Test {
        let mut settings = engine::settings();
        change(&mut settings);
        Test::with(engine, settings).await
    }

    /// A fresh service with these settings.
    pub async fn with(engine: Engine, settings: Settings) -> Test {
        Test::with_catalogue(engine, settings, Catalogue::built_in().clone()).await
    }

    /// A fresh service with these settings and other roles.
    pub async fn with_catalogue(engine: Engine, settings: Settings, catalogue: Catalogue) -> Test {
        let test = Test { has_background: true, ..Test::build(engine, settings, catalogue).await };
        test.app.start_background().await;
        test
    }

    /// A fresh service without background work, nor have its replicas any: the test takes each step itself. Between two
    /// steps of a test with background work, a worker may have taken one of its own.
    pub async fn without_background(engine: Engine, settings: Settings) -> Test {
        Test::build(engine, settings, Catalogue::built_in().clone()).await
    }

    async fn build(engine: Engine, mut settings: Settings, catalogue: Catalogue) -> Test {
        let assets = tempfile::tempdir().expect("a directory");
        if matches!(settings.assets.location, ObjectLocation::Nowhere) {
            settings.assets.location = ObjectLocation::Files(assets.path().join("assets"));
        }
        let (db, kept, database_url) = engine::database(engine).await;
        let clock = Arc::new(ManualClock::new());
        let entropy = Arc::new(SeededEntropy::new(2));
        let app = engine::build(settings, db, clock.clone(), entropy.clone(), catalogue);
        // Drawn here, so that no background work draws it among the ids of the test: they would differ from run to run,
        // and with them the order of rows of one moment.
        app.platform.instance();
        let router = router(&app);
        let processes = Arc::new(AtomicU64::new(1));
        Test {
            app,
            clock,
            entropy,
            engine,
            database_url,
            processes,
            has_background: false,
            router,
            kept,
            _assets: Some(assets),
        }
    }

    /// A second process on the same database and clock (PostgreSQL).
    pub async fn replica(&self) -> Test {
        self.replica_with(|_| {}).await
    }

    /// A second process on the same database and clock, with other settings.
    pub async fn replica_with(&self, change: impl FnOnce(&mut Settings)) -> Test {
        let mut settings = (*self.app.settings).clone();
        change(&mut settings);
        let db = engine::open(&self.database_url).await;
        let seed = 2 + self.processes.fetch_add(1, Ordering::Relaxed);
        let entropy = Arc::new(SeededEntropy::new(seed));
        let app = engine::build(
            settings,
            db,
            self.clock.clone(),
            entropy.clone(),
            (*self.app.platform.catalogue).clone(),
        );
        if self.has_background {
            app.start_background().await;
        }
        let router = router(&app);
        Test {
            app,
            clock: self.clock.clone(),
            entropy,
            engine: self.engine,
            database_url: self.database_url.clone(),
            processes: self.processes.clone(),
            has_background: self.has_background,
            router,
            kept: self.kept.clone(),
            _assets: None,
        }
    }

    /// A transaction on a connection of its own, for a test that lets others wait for it. The pool has two connections:
    /// one for such a transaction, and one for a worker that waits for it, would leave none for the request under test.
    pub async fn begin_apart(&self) -> Tx {
        engine::open(&self.database_url).await.begin().await.expect("a transaction")
    }

    /// A request.
    pub fn call(&self, method: Method, path: &str) -> Call {
        Call::new(self.router.clone(), method, path)
    }

    /// GET.
    pub fn get(&self, path: &str) -> Call {
        self.call(Method::GET, path)
    }

    /// POST.
    pub fn post(&self, path: &str) -> Call {
        self.call(Method::POST, path)
    }

    /// PUT.
    pub fn put(&self, path: &str) -> Call {
        self.call(Method::PUT, path)
    }

    /// PATCH.
    pub fn patch(&self, path: &str) -> Call {
        self.call(Method::PATCH, path)
    }

    /// DELETE.
    pub fn delete(&self, path: &str) -> Call {
        self.call(Method::DELETE, path)
    }

    /// Lets time pass.
    pub fn advance(&self, by: Duration) {
        self.clock.advance(by);
    }

    /// Lets time pass, and the statuses of systems with it.
    pub async fn pass(&self, by: Duration) {
        self.advance(by);
        bailiwick_fleet::systems::stats::update_statuses(&self.app.fleet).await.expect("statuses");
    }

    /// A fresh service on a real port that is also its public address, for browsers.
    pub async fn on_port(engine: Engine, change: impl FnOnce(&mut Settings)) -> (Test, Running) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let mut settings = engine::settings();
        settings.public_url = format!("http://{}", listener.local_addr().expect("its address"));
        change(&mut settings);
        let test = Test::with(engine, settings).await;
        let running = test.listen(listener);
        (test, running)
    }

    /// Opens a real port for programs outside.
    pub async fn serve(&self) -> Running {
        self.listen(tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port"))
    }

    fn listen(&self, listener: tokio::net::TcpListener) -> Running {
        let address = listener.local_addr().expect("its address");
        let service = self.router.clone().into_make_service_with_connect_info::<std::net::SocketAddr>();
        let task = tokio::task::spawn(async move { axum::serve(listener, service).await });
        Running { url: format!("http://{address}"), task }
    }
}

fn router(app: &App) -> Router {
    let pages = bailiwick_api::Pages {
        router: bailiwick_console::router(app, tokio::runtime::Handle::current()),
        routes: &bailiwick_console::ROUTES,
    };
    bailiwick_api::router(app, pages)
}

/// The service on a real port until dropped.
#[derive(Debug)]
pub struct Running {
    /// `http://127.0.0.1:port`.
    pub url: String,
    task: tokio::task::JoinHandle<std::io::Result<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}
