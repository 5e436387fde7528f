//! `bailiwick serve`

use super::{MISCONFIGURED, compose, fail, first_start, keys, messages, note};
use crate::{
    STACK,
    config::{self, Config, LogFormat},
    listen,
    ports::SystemClock,
    process, reload, shutdown, supervisor, telemetry,
};
use bailiwick_app::{
    App,
    database::{Db, analyze_restored},
    operator::{self, FirstStart},
    traces::Traces,
};
use bailiwick_demo::life as demo;
use bailiwick_directory::images;
use bailiwick_domain::Error;
use bailiwick_identity::oidc;
use bailiwick_platform::{processes, secrets::Purpose};
use bailiwick_settings::Build;
use serde_json::Value;
use std::{
    io::{self, Write},
    num::NonZeroUsize,
    process::ExitCode,
    sync::Arc,
    time::Duration,
};
use tokio::runtime;

/// Serves until the process receives a signal to stop.
pub fn run(config: &Config) -> ExitCode {
    let traces = match telemetry::start(&config.log, &config.telemetry) {
        Ok(traces) => traces,
        Err(problem) => return fail(&problem),
    };
    // Background work and the pages of the console have a runtime of their own beside the workers of the HTTP front,
    // which it outlives.
    let threads = std::thread::available_parallelism().map_or(2, |cores| cores.get().max(2));
    let runtime = match runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .thread_stack_size(STACK)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(e) => return fail(&e.to_string()),
    };
    config.hints().iter().for_each(|hint| tracing::warn!("{hint}"));
    let served = runtime.block_on(serve(config, traces));
    match served {
        Ok((front, operations)) => {
            front.close();
            if let Some(operations) = operations {
                operations.close();
            }
            ExitCode::SUCCESS
        }
        Err(Stop { why, status }) => {
            explain(config, &why);
            status
        }
    }
}

/// Says why the service does not start: at the end of the log, in its format and at every level.
fn explain(config: &Config, why: &str) {
    match config.log.format {
        LogFormat::Text => note(why),
        LogFormat::Json => {
            let line = telemetry::json_line(tracing::Level::ERROR, why, Value::Null);
            // If the standard error is closed, there is no place left to report to.
            let _ = io::stderr().lock().write_all(line.as_bytes());
        }
    }
}

/// Why the service does not start.
struct Stop {
    why: String,
    status: ExitCode,
}

impl Stop {
    /// Another start changes nothing.
    fn misconfigured(why: String) -> Stop {
        Stop { why, status: ExitCode::from(MISCONFIGURED) }
    }
}

impl From<String> for Stop {
    fn from(why: String) -> Stop {
        Stop { why, status: ExitCode::FAILURE }
    }
}

/// The front and the listener for operators; the latter answers until the end.
type Listeners = (listen::Server, Option<listen::Server>);

async fn serve(config: &Config, traces: Option<Traces>) -> Result<Listeners, Stop> {
    // First of all: a certificate may be replaced while migrations run.
    let hangups = reload::hangups().map_err(|e| e.to_string())?;
    let stop_signal = shutdown::on_signal().map_err(|e| e.to_string())?;
    let tls = tls(config)?;
    if let Some(traces) = &traces {
        traces.start();
    }
    let db = compose::open(config, true).await?;
    analyze_after_restore(&db).await;
    let secret = keys::admitted(config, &db, Purpose::Service).await?;
    // Binds first: before the first user is created with a password that is printed once, and before an address is
    // printed.
    let bound = bind(config)?;
    let config = &at_real_port(config, &bound);
    let app = compose::application(config, &secret, db, Arc::new(SystemClock))?;
    let static_files = app.static_files().map_err(|why| format!("http.static_dir: {why}"))?;
    let first = operator::ensure_owner(&app).await;
    let first = first.map_err(|e| {
        let why = messages::of(&e, |key| config.with_origin(key));
        // A password, name or address in `owner` that breaks a rule.
        if matches!(e, Error::Invalid(_)) { Stop::misconfigured(why) } else { why.into() }
    })?;
    log_unused_owner_settings(config, &first);
    let (mut front, operations) = match begin(config, &app, bound, (&tls, traces.clone())).await {
        Ok(listeners) => listeners,
        Err(problem) => {
            // The first password has not been printed yet.
            first_start::print_without_address(&app, first, config.log.format);
            return Err(problem.into());
        }
    };
    supervisor::notify("READY=1");
    first_start::greet(&app, first, config.log.format);
    reload::on_hangup(&app, hangups, tls, static_files);
    stop_signal.cancelled().await;
    supervisor::notify("STOPPING=1");
    app.platform.leaving.cancel();
    tokio::time::sleep(config.http.drain_delay.unwrap_or_default()).await;
    front.drain().await;
    app.platform.stop.cancel();
    app.platform.tasks.close();
    shutdown::within(shutdown::GRACE, "background work", app.platform.tasks.wait()).await;
    if let Some(traces) = &traces {
        traces.finish().await;
    }
    // A query that hangs must not delay the end of the process.
    shutdown::within(shutdown::GRACE, "the database", app.platform.db.close()).await;
    tracing::info!("stopped");
    Ok((front, operations))
}

/// Names the settings that only the first start reads.
fn log_unused_owner_settings(config: &Config, first: &FirstStart) {
    let given = config.given("owner.");
    if matches!(first, FirstStart::Done) && !given.is_empty() {
        tracing::debug!(
            settings = given.join(", "),
            "only the first start reads these settings; `bailiwick user create-owner` adds another owner"
        );
    }
}

/// Sockets of the front, and of the listener for operators.
struct Sockets {
    front: listen::Bound,
    operations: Option<listen::Bound>,
}

fn bind(config: &Config) -> Result<Sockets, String> {
    let open = |address, workers, setting: &str| {
        let options = listen::Options { workers: NonZeroUsize::new(workers), ..listen::Options::default() };
        listen::bind(address, options).map_err(|e| {
            format!(
                "cannot listen on {address}, {}: {e}{}",
                config.with_origin(setting),
                advice(e.kind(), address.port())
            )
        })
    };
    let front = open(config.http.listen, config.http.workers as usize, "http.listen")?;
    let operations = config.metrics.listen.map(|address| open(address, 1, "metrics.listen")).transpose()?;
    Ok(Sockets { front, operations })
}

/// What to do about an address that cannot be bound.
fn advice(error: io::ErrorKind, port: u16) -> &'static str {
    match error {
        io::ErrorKind::AddrInUse => "; another program has it, stop that one or set another address",
        io::ErrorKind::AddrNotAvailable => "; it is not an address of this machine",
        io::ErrorKind::PermissionDenied if port < 1024 => {
            "; ports below 1024 need CAP_NET_BIND_SERVICE (the comment in the systemd unit says how): set a higher one, with a \
             proxy before it, or give the program that right"
        }
        _ => "",
    }
}

/// The configuration with the port that the system has chosen for port 0.
fn at_real_port(config: &Config, bound: &Sockets) -> Config {
    let mut config = config.clone();
    config.http.listen = bound.front.address();
    config
}

/// Gathers statistics of a restored database before the first request, unless that takes long: then it continues beside
/// the first requests.
async fn analyze_after_restore(db: &Db) {
    const MOST: Duration = Duration::from_secs(20);
    match tokio::time::timeout(MOST, analyze_restored(db)).await {
        Ok(Ok(false)) => {}
        Ok(Ok(true)) => tracing::info!("collected the missing statistics of the tables"),
        Ok(Err(e)) => tracing::warn!(error = %e, "the database has no statistics of its tables"),
        Err(_) => tracing::warn!("the database is still gathering statistics of its tables"),
    }
}

/// Logs problems of the image store; the service starts all the same.
async fn look_at_images(app: App) {
    match images::complaints(&app.directory).await {
        Ok(complaints) => complaints.iter().for_each(|complaint| tracing::warn!("{complaint}")),
        Err(e) => tracing::warn!(error = %e, "cannot read where images are stored"),
    }
}

/// File descriptors reserved for the database, files and outgoing requests; half of a small limit.
const RESERVED_FILES: u64 = 1024;
/// Fewer file descriptors than this are too few to serve.
const LEAST_FILES: u64 = 128;
/// Default limit of connections: an idle one costs about 10 KiB.
const CONNECTIONS: u64 = 16_384;

/// The bounds on connections for a limit of open files (`None` = without limit).
fn connection_limits(http: &config::Http, open_files: Option<u64>) -> Result<listen::Limits, String> {
    let files = open_files.unwrap_or(u64::MAX);
    if files < LEAST_FILES {
        return Err(format!(
            "this process may open {files} files only, and needs {LEAST_FILES} at least: raise the limit \
             (`ulimit -n`, `LimitNOFILE=` of the systemd unit)"
        ));
    }
    let most = files - RESERVED_FILES.min(files / 2);
    let open = http.max_connections.map_or(CONNECTIONS.min(most), u64::from);
    if open > most {
        return Err(format!(
            "http.max_connections is {open}, but this process may open {files} files, which leaves {most} for \
             connections: lower it, or raise the limit (`ulimit -n`, `LimitNOFILE=` of the systemd unit)"
        ));
    }
    let of_one_address = http.max_connections_per_address.map_or(open / 4, u64::from).clamp(1, open);
    let count = |number| usize::try_from(number).unwrap_or(usize::MAX);
    Ok(listen::Limits {
        open: count(open),
        of_one_address: count(of_one_address),
        trusted: http.trusted_proxies.clone(),
    })
}

/// Starts everything; when this returns, the service answers requests.
async fn begin(
    config: &Config,
    app: &App,
    bound: Sockets,
    (tls, traces): (&Option<Arc<listen::Tls>>, Option<Traces>),
) -> Result<Listeners, String> {
    if app.settings.identity.is_embedded() {
        oidc::keys::ensure_signing_key(&app.identity).await.map_err(|e| e.to_string())?;
    }
    processes::start(&app.platform, process::host()).await.map_err(|e| e.to_string())?;
    compare_addresses(app).await;
    app.start_background().await;
    // Not among the other background tasks: tests take the steps of a demo database themselves.
    demo::start(&app.alerts);
    app.platform.tasks.spawn(look_at_images(app.clone()));
    let (for_workers, threads) = (app.clone(), runtime::Handle::current());
    let connections = listen::Connections::new(connection_limits(&config.http, process::open_files())?);
    let front = listen::start(bound.front, connections.clone(), tls.clone(), move |_| {
        bailiwick_api::router(&for_workers, pages(&for_workers, threads.clone()))
    })
    .map_err(|e| format!("cannot serve: {e}"))?;
    let operations = operations(config, app, bound.operations, connections, (tls.clone(), traces))?;
    let Build { version, commit, .. } = app.settings.build;
    let database = keys::named(config);
    let file = config.file.as_ref().map(|path| path.display().to_string());
    tracing::info!(address = %front.address(), database, configuration = file, version, commit, "listening");
    reload::watch_certificate(app, tls.clone());
    Ok((front, operations))
}

/// People are sent to the public address of the process that they have reached: several processes should have one.
async fn compare_addresses(app: &App) {
    let public_url = app.settings.public_url.as_str();
    match processes::with_other_address(&app.platform).await {
        Ok(others) => others.iter().for_each(|(host, other)| {
            tracing::warn!(
                public_url,
                other,
                host,
                "another process of this database has another http.public_url: links and sign-ins depend on the process that \
                 somebody reaches; set the same for all"
            );
        }),
        Err(e) => tracing::warn!(error = %e, "other processes cannot be compared with this one"),
    }
}

/// The console, whose pages are made on `threads`.
fn pages(app: &App, threads: runtime::Handle) -> bailiwick_api::Pages {
    bailiwick_api::Pages {
        router: bailiwick_console::router(app, threads),
        routes: &bailiwick_console::ROUTES,
    }
}

/// The certificate, if one is configured; the check of the configuration requires both files.
fn tls(config: &Config) -> Result<Option<Arc<listen::Tls>>, String> {
    let (Some(certificate), Some(key)) = (&config.http.tls_certificate, &config.http.tls_key) else {
        return Ok(None);
    };
    Ok(Some(Arc::new(listen::Tls::open(certificate, key).map_err(|why| why.to_string())?)))
}

/// The listener for operators, if one is configured.
fn operations(
    config: &Config,
    app: &App,
    bound: Option<listen::Bound>,
    connections: Arc<listen::Connections>,
    (tls, traces): (Option<Arc<listen::Tls>>, Option<Traces>),
) -> Result<Option<listen::Server>, String> {
    let Some(bound) = bound else { return Ok(None) };
    let (app, token) = (app.clone(), config.metrics.token.clone());
    let router = move |_| {
        let token = token.as_ref().map(|token| token.reveal().as_str());
        let (connections, tls, traces) = (connections.clone(), tls.clone(), traces.clone());
        let page = move || {
            let traces = traces.as_ref().map(Traces::page).unwrap_or_default();
            process::page() + &connections.page() + &reload::page(tls.as_deref()) + &traces
        };
        bailiwick_api::monitoring::router(&app, token, Arc::new(page))
    };
    // From the reserve, so that it answers when the front is full.
    let own = listen::Limits { open: 64, of_one_address: 32, trusted: Vec::new() };
    let server = listen::start(bound, listen::Connections::new(own), None, router)
        .map_err(|e| format!("cannot serve metrics: {e}"))?;
    tracing::info!(address = %server.address(), "metrics");
    Ok(Some(server))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Root may bind every port, so no process of the tests is refused one.
    #[test]
    fn a_low_port_that_is_refused_names_the_right_it_needs() {
        let refused = io::ErrorKind::PermissionDenied;
        assert!(advice(refused, 443).contains("CAP_NET_BIND_SERVICE"));
        assert_eq!(advice(refused, 8080), "");
    }
}
