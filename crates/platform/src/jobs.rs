//! What background work has in common: workers on leased jobs, of which several processes share the jobs and one that
//! dies loses its own; and what one process of all does again and again.

use crate::backoff::Backoff;
use std::time::Duration;
use tracing::Span;

/// Wait after the first failure; it doubles up to [`LONGEST_DELAY`].
pub const RETRY: Backoff = Backoff::new(&[Duration::from_secs(30)], Duration::from_secs(4 * 3600));
pub const FAILURE: &str = "waiting jobs cannot be worked on";
/// Longest reason kept with a job, in characters.
const REASON_CHARS: usize = 500;

/// Leases once and handles what was leased; how many that were.
/// Works until the application stops: at once after a hint, and every `poll` without one.
/// Runs `step` on the application's tracker every `interval` until it stops, then gives `lease` back, under which the step
/// works: another process need not wait for its end.
/// Where this process has the database alone, the processes that have leased anything before are dead. Called before
/// anything is leased here, so that no lease of this process ends.
/// A job in traces: the trace of what is done within it.
pub fn span(kind: &'static str) -> Span {
    tracing::trace_span!("job", job.kind = kind)
}

/// Handles everything that is due now; for tests and commands. Answers how many jobs were handled.
/// When a job that has failed is due again: after 30 s, 1, 2, 4 … minutes.
/// Why it has failed, as it is kept with the job.
pub fn reason(text: &str) -> String {
    text.replace('\0', " ").chars().take(REASON_CHARS).collect()
}
