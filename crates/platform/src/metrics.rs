//! What the service tells Prometheus about itself (docs/observability.md).
//!
//! Every part counts with meters of its own; [`page`] walks through them. To add a family: a meter in the part, a
//! function that reads it, its lines here, its row in docs/observability.md (a test compares the two). Labels are fixed
//! words, never an id, a tenant or anything that a client sends.

use crate::{Platform, http_metrics::HttpMetrics};
use bailiwick_store::figures::{self, Work};
use std::time::Duration;
use tokio::{sync::Mutex, time::Instant};

/// How long what was seen of the database counts: however often somebody asks, it is not asked more often.
const WORK_FOR: Duration = Duration::from_secs(5);
/// How long the database may take.
const WORK_TIMEOUT: Duration = Duration::from_secs(4);

/// What is kept for the page.
#[derive(Debug, Default)]
pub struct Metrics {
    /// Requests.
    pub http: HttpMetrics,
    seen: Mutex<Option<(Instant, Option<Work>)>>,
}

/// Whether the token shown is the one wanted; the time it takes tells nothing of it.
pub fn is_same(presented: &str, expected: &str) -> bool {
    aws_lc_rs::constant_time::verify_slices_are_equal(presented.as_bytes(), expected.as_bytes()).is_ok()
}

/// What waits in the database; `None` while it does not answer.
pub async fn work(platform: &Platform) -> Option<Work> {
    let mut seen = platform.metrics.seen.lock().await;
    if let Some((at, work)) = &*seen
        && at.elapsed() < WORK_FOR
    {
        return work.clone();
    }
    let asked = tokio::time::timeout(WORK_TIMEOUT, figures::work(&platform.db, platform.now())).await;
    let work = match asked {
        Ok(Ok(work)) => Some(work),
        Ok(Err(e)) => {
            tracing::warn!(error = %e, "what waits in the database cannot be counted");
            None
        }
        Err(_) => {
            tracing::warn!("what waits in the database cannot be counted in time");
            None
        }
    };
    *seen = Some((Instant::now(), work.clone()));
    work
}
