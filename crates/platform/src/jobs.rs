//! Leased jobs: their retries, their traces and the reasons kept with them.

use crate::backoff::Backoff;
use std::time::Duration;
use tracing::Span;

/// Waits between the tries of a job: 30 s, then 1, 2, 4 … minutes up to four hours.
pub const RETRY: Backoff = Backoff::new(&[Duration::from_secs(30)], Duration::from_secs(4 * 3600));
/// The warning of a worker whose step fails, for [`Worker`](crate::worker::Worker).
pub const FAILURE: &str = "waiting jobs cannot be worked on";
/// Longest reason stored with a job, in characters.
const REASON_CHARS: usize = 500;

/// The span of a job in traces. Work done within it belongs to the job.
pub fn span(kind: &'static str) -> Span {
    tracing::trace_span!("job", job.kind = kind)
}

/// The reason of a failure, as it is kept with the job.
pub fn reason(text: &str) -> String {
    text.replace('\0', " ").chars().take(REASON_CHARS).collect()
}
