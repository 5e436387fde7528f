//! Background work of the alert service: signs of life, removal of ended alerts, delivery of queued pushes.

use super::{config::provision, notify, outage_detector, push_queue};
use crate::Alerts;
use bailiwick_alertmanager::notify::kept_for;
use bailiwick_domain::Ts;
use bailiwick_store::{
    StoreError,
    delivery::{self, notification_log},
    router,
};
use std::time::Duration;

/// How long the row of an ended alert is kept when all its recipients have been notified, and when not (spec:
/// alert-router#life).
const KEEP_NOTIFIED: Duration = Duration::from_secs(15 * 60);
const KEEP_UNNOTIFIED: Duration = Duration::from_secs(45 * 60);
/// How long the failure of a recipient is kept, unless it fails again.
const KEEP_FAILURES: Duration = Duration::from_secs(30 * 86_400);
/// Rows removed by one transaction.
const ROWS: i64 = 1000;

/// Starts the workers on the application's tracker. Once for each process that serves.
pub fn start_workers(service: &Alerts) {
    match service.settings.alerting.router {
        bailiwick_settings::Router::Embedded => notify::start(service),
        bailiwick_settings::Router::Remote(_) => provision::start(service),
    }
}

/// Gives the sign of life of a process that serves the embedded router, if the last one is not recent.
///
/// # Errors
/// The database's.
pub async fn note_alive(service: &Alerts) -> Result<(), StoreError> {
    outage_detector::sign_if_due(service).await
}

/// Delivers due queued pushes; returns how many were tried.
///
/// # Errors
/// The database's.
pub async fn deliver_queued(service: &Alerts) -> Result<usize, StoreError> {
    push_queue::deliver(service).await
}

/// Removes alerts and silences that ended long enough ago; returns their number.
///
/// # Errors
/// The database's.
pub async fn purge_ended(service: &Alerts) -> Result<u64, StoreError> {
    outage_detector::sign_if_due(service).await?;
    let now = service.platform.now();
    // An alert that ended in an outage may be refreshed right after it, and its recipients are still to be notified.
    let up_since = service
        .state
        .outage
        .ended_at()
        .map_or(service.platform.started_at, |at| at.max(service.platform.started_at));
    let before =
        |retention| if now >= up_since.plus(retention) { now.minus(retention) } else { Ts(i64::MIN) };
    let (notified_before, unnotified_before) = (before(KEEP_NOTIFIED), before(KEEP_UNNOTIFIED));
    let settings = &service.settings.alerting;
    let silences_before = now.minus(settings.silence_retention);
    let notices_before = now.minus(kept_for(settings.timing.repeat_interval));
    let mut removed = 0;
    loop {
        let mut tx = service.platform.db.begin_relaxed().await?;
        let n = router::purge_alerts(&mut tx, notified_before, unnotified_before, ROWS).await?
            + router::purge_silences(&mut tx, silences_before, ROWS).await?;
        let traces = notification_log::purge(&mut tx, notices_before, ROWS).await?
            + notification_log::purge_failures(&mut tx, now.minus(KEEP_FAILURES)).await?
            + delivery::purge_tenants(&mut tx).await?;
        tx.commit().await?;
        removed += n;
        if n + traces == 0 {
            return Ok(removed);
        }
    }
}
