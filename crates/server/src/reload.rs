//! SIGHUP: reads files again that may have changed. An unreadable file leaves everything as it was.

use crate::listen::Tls;
use bailiwick_app::{App, static_files::StaticFiles};
use bailiwick_domain::{
    Ts,
    metrics::{MetricKind, Page},
};
use std::{io, sync::Arc, time::Duration};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Handles the signal from now on; unhandled, it would end the process.
pub fn hangups() -> io::Result<Signal> {
    signal(SignalKind::hangup())
}

/// Waits for the signal on the application's tracker until it ends.
pub fn on_hangup(
    app: &App,
    mut hangup: Signal,
    tls: Option<Arc<Tls>>,
    static_files: Option<Arc<StaticFiles>>,
) {
    let app = app.clone();
    app.platform.tasks.clone().spawn(async move {
        loop {
            tokio::select! {
                received = hangup.recv() => if received.is_none() { return },
                () = app.platform.stop.cancelled() => return,
            }
            let (tls, static_files, now) = (tls.clone(), static_files.clone(), app.platform.now());
            let again = move || read_again(tls.as_deref(), static_files.as_deref(), now);
            let read = tokio::task::spawn_blocking(again).await;
            if read.is_err() {
                tracing::error!("SIGHUP: reload failed");
            }
        }
    });
}

/// Warns of a certificate that has expired or soon will: now and every day until the application stops.
pub fn watch_certificate(app: &App, tls: Option<Arc<Tls>>) {
    const DAY: Duration = Duration::from_secs(86_400);
    let (Some(tls), app) = (tls, app.clone()) else { return };
    app.platform.tasks.clone().spawn(async move {
        loop {
            warn_of(&tls, app.platform.now());
            if app.platform.stop.run_until_cancelled(tokio::time::sleep(DAY)).await.is_none() {
                return;
            }
        }
    });
}

fn warn_of(tls: &Tls, now: Ts) {
    if let Some(complaint) = tls.complaint(now) {
        tracing::warn!("{complaint}");
    }
}

/// The metric families of the listener; without TLS there are none.
pub fn page(tls: Option<&Tls>) -> String {
    let mut page = Page::default();
    let mut family = page.family(
        "bailiwick_tls_certificate_expires_timestamp_seconds",
        MetricKind::Gauge,
        "When the certificate of http.tls_certificate ends, Unix time.",
    );
    if let Some(at) = tls.and_then(Tls::expires_at) {
        family.value(&[], at.secs());
    }
    page.finish()
}

fn read_again(tls: Option<&Tls>, static_files: Option<&StaticFiles>, now: Ts) {
    if let Some(tls) = tls {
        read_certificate(tls, now);
    } else {
        tracing::info!("SIGHUP: there is no certificate to read again");
    }
    match static_files.map(StaticFiles::reload) {
        None => {}
        Some(Ok(())) => tracing::info!("SIGHUP: reloaded the files of the web interface"),
        Some(Err(why)) => {
            tracing::error!(error = why, "SIGHUP: the web interface cannot be read; what is served stays");
        }
    }
}

fn read_certificate(tls: &Tls, now: Ts) {
    match tls.reload() {
        Ok(()) => {
            tracing::info!("SIGHUP: new connections get the certificate that is in the files now");
            warn_of(tls, now);
        }
        Err(why) => {
            tracing::error!(error = %why, "SIGHUP: the certificate cannot be used; the one in use stays");
        }
    }
}
