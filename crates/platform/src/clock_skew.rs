//! Repairs the times that a fast clock has written. When such a clock is set back, the work that it put off would wait
//! too long. One process looks for such times every minute and makes the work due.
//!
//! Leases need no repair: a lease that lies too far ahead counts as none where it is read.

use crate::{Platform, periodic};
use bailiwick_domain::Result;
use bailiwick_store::{
    clock_skew::{self, LongestDelays},
    leases,
};
use std::time::Duration;

const LEASE: &str = "times ahead";
const LEASE_TIME: Duration = Duration::from_secs(180);
const EVERY: Duration = Duration::from_secs(60);
/// Rows of a table that one transaction repairs.
const ROWS: i64 = 1000;

/// Starts the repair on the tracker. `longest` is the longest time for which each kind of work is ever put off.
pub fn start(platform: &Platform, longest: LongestDelays) {
    periodic::repeat(platform, LEASE, EVERY, move |platform| Box::pin(set_back(platform, longest)));
}

/// Makes due now all work that is put off further than its longest wait, if this process gets the lease. Returns how
/// many rows that were.
///
/// # Errors
/// The database's.
pub async fn set_back(platform: &Platform, longest: LongestDelays) -> Result<u64> {
    let mut all = 0;
    while !platform.stop.is_cancelled() {
        let now = platform.now();
        if !leases::take(&platform.db, LEASE, platform.instance(), now, now.plus(LEASE_TIME)).await? {
            break;
        }
        let mut tx = platform.db.begin_relaxed().await?;
        let found = clock_skew::set_back(&mut tx, now, longest, leases::SKEW, ROWS).await?;
        tx.commit().await?;
        if found == 0 {
            break;
        }
        tracing::warn!(found, "the clock was set back; work it had postponed is due now");
        all += found;
    }
    Ok(all)
}
