//! Ends alerts that are no longer refreshed. One process at a time looks for them every minute (spec:
//! alert-management#history).

use super::super::outage_detector;
use crate::Alerts;
use bailiwick_alertmanager::Nanos;
use bailiwick_domain::Result;
use bailiwick_platform::tasks::lease;
use bailiwick_store::{alert_rows::Spared, history::expiry};
use std::time::Duration;

/// The name of the task.
pub const EXPIRY: &str = "alert history";
/// After this time another process replaces one that has died.
const LEASE_TIME: Duration = Duration::from_secs(180);
/// Rows that end in one transaction.
const ROWS: i64 = 500;

/// Ends the open rows whose time has passed and returns their number; none when another process is doing so.
///
/// # Errors
/// The database's.
pub async fn sweep(service: &Alerts) -> Result<Option<u64>> {
    let mut ended = 0;
    loop {
        if service.state.is_embedded() {
            outage_detector::sign_if_due(service).await?;
        }
        if !lease(&service.platform, EXPIRY, LEASE_TIME).await? {
            return Ok(None);
        }
        let n = expiry::sweep(&service.platform.db, service.platform.now(), spared(service), ROWS).await?;
        ended += n;
        if n == 0 || service.platform.stop.is_cancelled() {
            return Ok(Some(ended));
        }
    }
}

/// After an outage, the embedded router gives senders time to refresh alerts that expired meanwhile (spec:
/// alert-router#life).
pub(in super::super) fn spared(service: &Alerts) -> Spared {
    let outage = service.state.outage.get()?;
    let (from, to) = outage.spares(Nanos::from_ts(service.platform.now()))?;
    Some((from.to_ts(), to.to_ts()))
}
