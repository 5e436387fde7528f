//! SIGHUP: files that may have changed are read again. What cannot be read leaves everything as it was.

use crate::listen::Tls;
use bailiwick_app::{App, site::Site};
use std::{io, sync::Arc};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signal from now on. It ends a process that has not asked for it.
pub fn hangups() -> io::Result<Signal> {
    signal(SignalKind::hangup())
}

/// Waits for the signal on the application's tracker until it ends.
pub fn on_hangup(app: &App, mut hangup: Signal, tls: Option<Arc<Tls>>, site: Option<Arc<Site>>) {
    let app = app.clone();
    app.tasks.clone().spawn(async move {
        loop {
            tokio::select! {
                received = hangup.recv() => if received.is_none() { return },
                () = app.stop.cancelled() => return,
            }
            let (tls, site) = (tls.clone(), site.clone());
            let read = tokio::task::spawn_blocking(move || read_again(tls.as_deref(), site.as_deref())).await;
            if read.is_err() {
                tracing::error!("SIGHUP: reading again has failed");
            }
        }
    });
}

fn read_again(tls: Option<&Tls>, site: Option<&Site>) {
    match tls.map(Tls::reload) {
        None => tracing::info!("SIGHUP: there is no certificate to read again"),
        Some(Ok(())) => {
            tracing::info!("SIGHUP: new connections get the certificate that is in the files now")
        }
        Some(Err(why)) => {
            tracing::error!(error = why, "SIGHUP: the certificate cannot be used; the one in use stays");
        }
    }
    match site.map(Site::reload) {
        None => {}
        Some(Ok(())) => tracing::info!("SIGHUP: the files of the web interface are those that are there now"),
        Some(Err(why)) => {
            tracing::error!(error = why, "SIGHUP: the web interface cannot be read; what is served stays");
        }
    }
}
