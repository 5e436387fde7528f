//! Alerts that nobody refreshes end by themselves: looked for every minute by one process of all (spec:
//! alert-management#history).

use super::super::life;
use crate::Alerts;
use bailiwick_alerting::Nanos;
use bailiwick_platform::periodic;
use bailiwick_store::{
    StoreError,
    history::keep::{self, Spared},
    leases,
};
use std::time::Duration;

/// Name of the lease.
const LEASE: &str = "alert history";
/// Between two looks.
const EVERY: Duration = Duration::from_secs(60);
/// A process that has died is replaced after that time.
const LEASE_TIME: Duration = Duration::from_secs(180);
/// Rows that end in one transaction.
const ROWS: i64 = 500;

/// Starts the looks on the application's tracker.
pub(in super::super) fn start(app: &Alerts) {
    periodic::repeat(app, LEASE, EVERY, |app| Box::pin(async { Ok(sweep(app).await?.unwrap_or(0)) }));
}

/// Ends the open rows whose time has passed; how many. None when another process looks.
///
/// # Errors
/// The database's.
pub async fn sweep(app: &Alerts) -> Result<Option<u64>, StoreError> {
    let mut ended = 0;
    loop {
        if app.alerting().is_embedded() {
            life::keep(app).await?;
        }
        let now = app.now();
        if !leases::take(&app.db, LEASE, app.instance(), now, now.plus(LEASE_TIME)).await? {
            return Ok(None);
        }
        let n = keep::sweep(&app.db, now, spared(app), ROWS).await?;
        ended += n;
        if n == 0 || app.stop.is_cancelled() {
            return Ok(Some(ended));
        }
    }
}

/// After an outage the embedded router gives senders time to refresh what ended meanwhile (spec: alert-router#life).
pub(in super::super) fn spared(app: &Alerts) -> Spared {
    let outage = app.alerting().outage.get()?;
    let (from, to) = outage.spares(Nanos::from_ts(app.now()))?;
    Some((from.to_ts(), to.to_ts()))
}
