//! Commands that need the running parts: database, use cases, HTTP.

use super::{
    Command, KeysCommand, UserCommand, alerts, assets, audit, backup, copy_db,
    demo::{self, DemoArgs, DemoCommand},
    events, fail, health, inventory, jobs, keys, logto, mail, openapi, owner, retention, sessions, system,
    token,
};
use crate::{
    STACK,
    config::{self, Config, DatabaseUrl},
    ports::{SystemClock, SystemEntropy},
    settings::settings,
};
use bailiwick_app::{App, Catalogue, database};
use bailiwick_demo::life::HistoryClock;
use bailiwick_domain::Clock;
use bailiwick_platform::secrets::Purpose;
use std::{future::Future, process::ExitCode, sync::Arc};
use tokio::runtime;

/// Runs a command that needs a configuration.
pub fn run(command: Command, config: Config) -> ExitCode {
    match command {
        Command::Health(args) => with_runtime(health::run(&config, args)),
        Command::Migrate => with_runtime(async { open(&config, false).await.map(drop) }),
        Command::Backup(args) => with_runtime(backup::back_up(&config, &args.directory)),
        Command::Restore(args) => with_runtime(async { backup::restore(&config, &args.directory) }),
        Command::CopyDb(args) => with_runtime(copy_db::run(&config, &args)),
        Command::Openapi(args) => openapi::run(&args),
        Command::Token(args) => with_app(&config, |app| async move { token::run(&app, &args).await }),
        Command::User(UserCommand::CreateOwner(args)) => {
            with_app(&config, |app| async move { owner::run(&app, args).await })
        }
        Command::Sessions(command) => {
            with_app(&config, move |app| async move { sessions::run(&app, command).await })
        }
        Command::Keys(KeysCommand::Rotate) => {
            with_app(&config, |app| async move { keys::rotate(&app).await })
        }
        Command::Keys(KeysCommand::Reseal) => {
            with_app(&config, |app| async move { keys::reseal(&app).await })
        }
        Command::Keys(KeysCommand::Adopt) => with_runtime(keys::adopt(&config)),
        Command::User(UserCommand::ResetSecondFactor(args)) => {
            with_app(&config, |app| async move { owner::reset_second_factor(&app, &args).await })
        }
        Command::User(UserCommand::SetPassword(args)) => {
            with_app(&config, |app| async move { owner::set_password(&app, &args).await })
        }
        Command::Mail(command) => with_app(&config, |app| async move { mail::run(&app, command).await }),
        Command::User(UserCommand::Unlink(args)) => {
            with_app(&config, |app| async move { owner::unlink(&app, &args).await })
        }
        // A service that is alone on its database caches credentials in memory.
        Command::System(command) => {
            with_app_alone(&config, move |app| async move { system::run(&app, command).await })
        }
        Command::Audit(args) => with_app(&config, move |app| async move { audit::run(&app, args).await }),
        Command::Logto(command) => {
            with_app(&config, move |app| async move { logto::run(&app, command).await })
        }
        Command::Assets(command) => {
            with_app(&config, move |app| async move { assets::run(&app, command).await })
        }
        Command::Alerts(command) => {
            with_app(&config, move |app| async move { alerts::run(&app, command).await })
        }
        Command::Events(command) => {
            with_app(&config, move |app| async move { events::run(&app, command).await })
        }
        Command::Inventory(command) => {
            with_app(&config, move |app| async move { inventory::run(&app, command).await })
        }
        Command::Jobs(args) => with_app(&config, move |app| async move { jobs::run(&app, args).await }),
        Command::Retention(args) => {
            with_app(&config, move |app| async move { retention::run(&app, args).await })
        }
        Command::Demo(args) => fill_or_clear(&config, args),
        // `cli::run` does these itself.
        Command::Serve | Command::Config(_) | Command::Completions(_) => ExitCode::SUCCESS,
    }
}

/// `bailiwick demo`, which makes a past under a clock that it sets, and `bailiwick demo remove`.
fn fill_or_clear(config: &Config, args: DemoArgs) -> ExitCode {
    if let Some(DemoCommand::Remove(args)) = args.command {
        return with_app_alone(config, move |app| async move { demo::remove(&app, args).await });
    }
    let clock = Arc::new(HistoryClock::new(Arc::new(SystemClock)));
    let fill = {
        let clock = clock.clone();
        move |app| async move { demo::run(&app, args, &clock).await }
    };
    with_runtime(on_database(config, false, clock, fill))
}

/// Runs to the end on a runtime of its own; an error is a text for the operator.
fn with_runtime(work: impl Future<Output = Result<(), String>>) -> ExitCode {
    let built =
        runtime::Builder::new_multi_thread().worker_threads(2).thread_stack_size(STACK).enable_all().build();
    let outcome = built.map_err(|e| e.to_string()).and_then(|runtime| runtime.block_on(work));
    outcome.map_or_else(|problem| fail(&problem), |()| ExitCode::SUCCESS)
}

/// Runs a command on the application without starting its background work.
fn with_app<F: Future<Output = Result<(), String>>>(
    config: &Config,
    work: impl FnOnce(App) -> F,
) -> ExitCode {
    with_runtime(on_database(config, false, Arc::new(SystemClock), work))
}

/// Runs the work with the application, if no service uses the SQLite file.
fn with_app_alone<F: Future<Output = Result<(), String>>>(
    config: &Config,
    work: impl FnOnce(App) -> F,
) -> ExitCode {
    with_runtime(on_database(config, true, Arc::new(SystemClock), work))
}

async fn on_database<F: Future<Output = Result<(), String>>>(
    config: &Config,
    exclusive: bool,
    clock: Arc<dyn Clock>,
    work: impl FnOnce(App) -> F,
) -> Result<(), String> {
    let db = open(config, exclusive).await?;
    let outcome = match keys::admitted(config, &db, Purpose::Command).await {
        Ok(secret) => match application(config, &secret, db.clone(), clock) {
            Ok(app) => work(app).await,
            Err(problem) => Err(problem),
        },
        Err(problem) => Err(problem),
    };
    db.close().await;
    outcome
}

/// Opens and migrates the configured database.
pub(super) async fn open(config: &Config, exclusive: bool) -> Result<database::Db, String> {
    let url = match config.database_url() {
        DatabaseUrl::Sqlite(path) => {
            if std::fs::metadata(&path).is_ok_and(|file| file.len() == 0) {
                tracing::warn!(
                    database = %path.display(),
                    "the database file is empty; treating it as a new installation"
                );
            }
            format!("sqlite:{}", path.display())
        }
        DatabaseUrl::Postgres(url) => url.reveal().to_owned(),
    };
    let connections = config.database.max_connections.get();
    let read_url = match &config.database.read_url {
        Some(DatabaseUrl::Postgres(url)) => Some(url.reveal().to_owned()),
        _ => None,
    };
    let options = database::Options { read_url, connections, exclusive, ..database::Options::new(url) };
    let db = database::Db::open(&options)
        .await
        .map_err(|e| format!("the database cannot be opened, see {}: {e}", database_setting(config)))?;
    db.migrate().await.map_err(|e| format!("the database cannot be brought to this version: {e}"))?;
    Ok(db)
}

/// The setting that says where the database is.
fn database_setting(config: &Config) -> String {
    config.with_origin(if config.database.url.is_some() { "database.url" } else { "data_dir" })
}

/// The application with the real randomness.
pub(super) fn application(
    config: &Config,
    secret: &config::Secret,
    db: database::Db,
    clock: Arc<dyn Clock>,
) -> Result<App, String> {
    let settings = settings(config, secret);
    App::new(settings, db, clock, Arc::new(SystemEntropy), Catalogue::built_in().clone())
        .map_err(|e| e.to_string())
}
