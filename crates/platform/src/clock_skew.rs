//! Makes good what a clock has put off that was ahead and was set back since. Leases of such a clock are taken for none
//! where they are looked at; the next tries it has written are looked for here, each minute, by one process.

use crate::{Platform, periodic};
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

/// Looks for as long as the application runs.
pub fn start(platform: &Platform, longest: Longest) {
    periodic::repeat(platform, LEASE, EVERY, move |platform| Box::pin(set_back(platform, longest)));
}

/// Makes due now what is put off further than anything ever is, if this process is the one to do so; how much that was.
///
/// # Errors
/// The database's.
pub async fn set_back(platform: &Platform, longest: Longest) -> Result<u64> {
    let mut all = 0;
    while !platform.stop.is_cancelled() {
        let now = platform.now();
        if !leases::take(&platform.db, LEASE, platform.instance(), now, now.plus(LEASE_TIME)).await? {
            break;
        }
        let mut tx = platform.db.begin_relaxed().await?;
        let found = ahead::set_back(&mut tx, now, longest, leases::SKEW, ROWS).await?;
        tx.commit().await?;
        if found == 0 {
            break;
        }
        tracing::warn!(found, "the clock was set back; what it had put off is due now");
        all += found;
    }
    Ok(all)
}
