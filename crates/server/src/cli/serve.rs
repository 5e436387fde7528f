//! `bailiwick serve`

use super::{fail, print, wire};
use crate::{STACK, config::Config, listen, process, reload, shutdown, telemetry};
use bailiwick_app::{App, bootstrap, oidc};
use std::{num::NonZeroUsize, process::ExitCode, sync::Arc};
use tokio::runtime;

/// Serves until told to stop.
pub fn run(config: &Config) -> ExitCode {
    if let Err(problem) = telemetry::start(&config.log) {
        return fail(&problem);
    }
    // Background work has a runtime of its own beside the workers of the HTTP front, which it outlives.
    let runtime = match runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_stack_size(STACK)
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(e) => return fail(&e.to_string()),
    };
    let served = runtime.block_on(serve(config));
    match served {
        Ok((front, operations)) => {
            front.close();
            if let Some(operations) = operations {
                operations.close();
            }
            ExitCode::SUCCESS
        }
        Err(problem) => fail(&problem),
    }
}

/// The front and the listener for operators, which answers until the end.
type Listeners = (listen::Server, Option<listen::Server>);

async fn serve(config: &Config) -> Result<Listeners, String> {
    let db = wire::open(config, true).await?;
    let app = wire::application(config, db)?;
    let first = bootstrap::ensure_owner(&app).await.map_err(|e| e.to_string())?;
    if app.settings.identity.is_embedded() {
        oidc::keys::ensure_signing_key(&app).await.map_err(|e| e.to_string())?;
    }
    app.start_background();
    let options = listen::Options {
        workers: NonZeroUsize::new(config.http.workers as usize),
        ..listen::Options::default()
    };
    let for_workers = app.clone();
    let tls = tls(config)?;
    let mut front =
        listen::start(config.http.listen, options, tls.clone(), move |_| bailiwick_api::router(&for_workers))
            .map_err(|e| format!("cannot listen on {}: {e}", config.http.listen))?;
    let operations = operations(config, &app)?;
    tracing::info!(address = %front.address(), version = env!("CARGO_PKG_VERSION"), "listening");
    greet(&app, first);
    let site = app.site().map_err(|why| format!("http.static_dir: {why}"))?;
    reload::on_hangup(&app, tls, site).map_err(|e| e.to_string())?;
    let asked = shutdown::on_signal(&app.tasks, app.stop.clone()).map_err(|e| e.to_string())?;
    asked.cancelled().await;
    app.leaving.cancel();
    tokio::time::sleep(config.http.drain_delay.unwrap_or_default()).await;
    front.drain().await;
    app.stop.cancel();
    app.tasks.close();
    shutdown::within(shutdown::GRACE, "background work", app.tasks.wait()).await;
    app.db.close().await;
    tracing::info!("stopped");
    Ok((front, operations))
}

/// The certificate, where one is configured; the configuration has been checked to have both files.
fn tls(config: &Config) -> Result<Option<Arc<listen::Tls>>, String> {
    let (Some(certificate), Some(key)) = (&config.http.tls_certificate, &config.http.tls_key) else {
        return Ok(None);
    };
    let tls =
        listen::Tls::open(certificate, key).map_err(|why| format!("TLS (http.tls_certificate): {why}"))?;
    Ok(Some(Arc::new(tls)))
}

/// The listener for operators, where one is configured.
fn operations(config: &Config, app: &App) -> Result<Option<listen::Server>, String> {
    let Some(address) = config.metrics.listen else { return Ok(None) };
    let options = listen::Options { workers: NonZeroUsize::new(1), ..listen::Options::default() };
    let (app, token) = (app.clone(), config.metrics.token.clone());
    let router = move |_| {
        let token = token.as_ref().map(|token| token.reveal());
        bailiwick_api::operations::router(&app, token, Arc::new(process::page))
    };
    let server = listen::start(address, options, None, router);
    let server = server.map_err(|e| format!("cannot listen on {address} (metrics.listen): {e}"))?;
    tracing::info!(address = %server.address(), "metrics");
    Ok(Some(server))
}

/// The first start says where to sign in and with what; a generated password is shown this once.
fn greet(app: &App, first: bootstrap::FirstStart) {
    let bootstrap::FirstStart::Created { email, generated_password } = first else { return };
    if let Some(issuer) = app.settings.identity.issuer() {
        print(&format!(
            "\nBailiwick is ready.\n\n  sign in at  {}\n  as          whoever has the verified e-mail address {email} at {}\n\n",
            app.settings.app_url, issuer.url,
        ));
        return;
    }
    let password = generated_password.map_or_else(
        || "the one you have configured".to_owned(),
        |password| format!("{}   (shown only now; keep it)", password.reveal()),
    );
    print(&format!(
        "\nBailiwick is ready.\n\n  sign in at  {url}/oidc/login\n  e-mail      {email}\n  password    {password}\n\n",
        url = app.settings.public_url,
    ));
}
