//! The metrics of a process that do not belong to one use case: counters of requests, and waiting work in the database.

use crate::{Platform, http_metrics::HttpMetrics, tasks::Runs};
use bailiwick_store::stats::{self, Work};
use std::time::Duration;
use tokio::{sync::Mutex, time::Instant};

/// How long a look at the waiting work is reused, so that frequent scrapes do not load the database.
const WORK_FOR: Duration = Duration::from_secs(5);
/// Longest time that a read of the waiting work may take.
const WORK_TIMEOUT: Duration = Duration::from_secs(4);

/// The metrics of a process.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Requests.
    pub http: HttpMetrics,
    /// Runs of tasks.
    pub tasks: Runs,
    cached_work: Mutex<Option<(Instant, Option<Work>)>>,
}

/// Whether a presented token is the expected one. The comparison takes constant time.
pub fn is_same(presented: &str, expected: &str) -> bool {
    aws_lc_rs::constant_time::verify_slices_are_equal(presented.as_bytes(), expected.as_bytes()).is_ok()
}

/// The waiting work in the database; `None` while the database does not answer.
pub async fn work(platform: &Platform) -> Option<Work> {
    let mut cached_work = platform.metrics.cached_work.lock().await;
    if let Some((at, work)) = &*cached_work
        && at.elapsed() < WORK_FOR
    {
        return work.clone();
    }
    let result = tokio::time::timeout(WORK_TIMEOUT, stats::work(&platform.db, platform.now())).await;
    let work = match result {
        Ok(Ok(work)) => Some(work),
        Ok(Err(e)) => {
            tracing::warn!(error = %e, "waiting work in the database cannot be counted");
            None
        }
        Err(_) => {
            tracing::warn!("waiting work in the database cannot be counted in time");
            None
        }
    };
    *cached_work = Some((Instant::now(), work.clone()));
    work
}
