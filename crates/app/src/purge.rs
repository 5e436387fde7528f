//! The regular removal of expired rows in all areas.

use crate::App;
use bailiwick_directory::imports;
use bailiwick_events::mail;
use bailiwick_identity::{auth, impersonation, oidc};
use bailiwick_platform::limits::shared;
use std::time::Duration;

/// Time between two removals.
const EVERY: Duration = Duration::from_secs(3600);

/// Removes expired session chains, files of imports, mails, impersonations, counts of limits and the expired rows of the
/// embedded provider every hour until the process stops.
pub(crate) fn start(app: &App) {
    let app = app.clone();
    app.tasks.clone().spawn(async move {
        while app.stop.run_until_cancelled(tokio::time::sleep(EVERY)).await.is_some() {
            let impersonations = impersonation::purge(&app).await;
            for (what, outcome) in [
                ("session chains", auth::purge_expired(&app).await),
                ("provider", oidc::purge_expired(&app).await),
                ("imports", imports::purge_expired(&app).await),
                ("mail", mail::purge(&app).await),
                ("limits", shared::purge(app.as_ref()).await),
                ("impersonation", impersonations.map(|p| p.sessions + p.entries + p.consents)),
            ] {
                match outcome {
                    Ok(purged) => tracing::debug!(what, purged, "expired rows removed"),
                    Err(e) => tracing::warn!(what, error = %e, "expired rows could not be removed"),
                }
            }
        }
    });
}
