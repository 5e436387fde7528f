//! Repairs the times that a fast clock has written. When such a clock is set back, the work that it put off would wait
//! too long. One process looks for such times every minute and makes the work due.
//!
//! Leases need no repair: a lease that lies too far ahead counts as none where it is read.

use crate::{Platform, tasks::lease};
use bailiwick_domain::Result;
use bailiwick_store::{
    clock_skew::{self, LongestDelays},
    leases,
};
use std::time::Duration;

/// The name of the task.
pub const NAME: &str = "times ahead";
/// The time between two looks.
pub const INTERVAL: Duration = Duration::from_secs(60);
const LEASE_TIME: Duration = Duration::from_secs(180);
/// Rows of a table that one transaction repairs.
const ROWS: i64 = 1000;

/// Makes due now all work that is put off further than `longest`, the longest time for which each kind is ever put off,
/// if this process gets the lease. Returns how many rows that were.
///
/// # Errors
/// The database's.
pub async fn set_back(platform: &Platform, longest: LongestDelays) -> Result<u64> {
    let mut all = 0;
    while !platform.stop.is_cancelled() {
        if !lease(platform, NAME, LEASE_TIME).await? {
            break;
        }
        let now = platform.now();
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
