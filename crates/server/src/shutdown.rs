//! The end of the process: a first signal asks for an orderly stop, a second one ends it at once.

use std::{future::Future, io, process, time::Duration};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// How long requests in flight and background work may take to finish (spec: conventions#limits).
pub const GRACE: Duration = Duration::from_secs(30);

/// Exit status after a second signal, as a shell reports an interrupted command.
const INTERRUPTED: i32 = 130;

/// A token that is cancelled by the first SIGTERM or SIGINT. The watching task runs as long as the process, so that a
/// second one is noticed during the shutdown.
pub fn on_signal() -> io::Result<CancellationToken> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let token = CancellationToken::new();
    let stop = token.clone();
    TaskTracker::new().spawn(async move {
        loop {
            let name = tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
            };
            if stop.is_cancelled() {
                tracing::warn!("{name} again: ending at once");
                process::exit(INTERRUPTED);
            }
            tracing::info!("{name}: finishing what is in flight");
            stop.cancel();
        }
    });
    Ok(token)
}

/// Waits for `work` for at most `grace`, usually [`GRACE`]; returns whether it finished.
pub async fn within(grace: Duration, what: &str, work: impl Future<Output = ()>) -> bool {
    let finished = tokio::time::timeout(grace, work).await.is_ok();
    if !finished {
        tracing::warn!("{what} did not finish within {} s", grace.as_secs());
    }
    finished
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future;

    #[tokio::test]
    async fn grace_ends() {
        let grace = Duration::from_millis(5);
        assert!(within(grace, "nothing", async {}).await);
        assert!(!within(grace, "everything", future::pending()).await);
    }
}
