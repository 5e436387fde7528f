//! Makes good what a clock has put off that was ahead and was set back since. Leases of such a clock are taken for none
//! where they are looked at; the next tries it has written are looked for here, each minute, by one process.

use crate::{App, alerting, events, inventory, jobs, retention};
use bailiwick_domain::Result;
use bailiwick_store::{
    ahead::{self, Longest},
    leases,
};
use std::time::Duration;

const LEASE: &str = "times ahead";
const LEASE_TIME: Duration = Duration::from_secs(180);
const EVERY: Duration = Duration::from_secs(60);
/// Rows of a table that one transaction makes good.
const ROWS: i64 = 1000;
/// Whoever puts work off for longer has to say so here.
const LONGEST: Longest = Longest {
    jobs: jobs::LONGEST_DELAY,
    inventory: inventory::LONGEST_DELAY,
    held_alerts: alerting::LONGEST_HELD,
    configurations: alerting::config::LONGEST_WAIT,
    mirror: jobs::LONGEST_DELAY,
    subscriptions: events::deliver::LONGEST_ASKED,
    events: events::deliver::LONGEST_WAIT,
    retention: retention::EVERY,
};

/// Looks for as long as the application runs.
pub(crate) fn start(app: &App) {
    jobs::repeat(app, LEASE, EVERY, |app| Box::pin(set_back(app)));
}

/// Makes due now what is put off further than anything ever is, if this process is the one to do so; how much that was.
///
/// # Errors
/// The database's.
pub async fn set_back(app: &App) -> Result<u64> {
    let mut all = 0;
    while !app.stop.is_cancelled() {
        let now = app.now();
        if !leases::take(&app.db, LEASE, app.instance(), now, now.plus(LEASE_TIME)).await? {
            break;
        }
        let mut tx = app.db.begin_relaxed().await?;
        let found = ahead::set_back(&mut tx, now, LONGEST, leases::SKEW, ROWS).await?;
        tx.commit().await?;
        if found == 0 {
            break;
        }
        tracing::warn!(found, "the clock was set back; what it had put off is due now");
        all += found;
    }
    Ok(all)
}
