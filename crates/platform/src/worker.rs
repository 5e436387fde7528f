//! Background workers: loops that do one step after another until the process stops.

use bailiwick_domain::Result;
use std::time::Duration;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

/// A background worker. It takes the next step at once while steps find work; otherwise it waits for a hint or the end
/// of the polling interval.
#[derive(Debug)]
pub struct Worker<'h, S> {
    /// Name of the work, for the log.
    pub name: &'static str,
    /// Text of the warning that is logged when a step fails. The worker then goes on as after a step without work.
    pub failure: &'static str,
    /// Longest wait between two steps.
    pub poll: Duration,
    /// Notified when there may be work; without it the worker only polls.
    pub hint: Option<&'h Notify>,
    /// One step. It returns how much work it found; after zero the worker waits.
    pub step: S,
}

impl<S, F> Worker<'_, S>
where
    S: FnMut() -> F,
    F: Future<Output = Result<u64>>,
{
    /// Works until `stop` is cancelled. A step that has begun is finished.
    pub async fn run(mut self, stop: &CancellationToken) {
        while !stop.is_cancelled() {
            // A step can be a deep and large future, so it is kept off the stack.
            match Box::pin((self.step)()).await {
                Ok(0) => {}
                Ok(_) => continue,
                Err(error) => tracing::warn!(kind = self.name, %error, "{}", self.failure),
            }
            tokio::select! {
                () = stop.cancelled() => {}
                () = hinted(self.hint) => {}
                () = tokio::time::sleep(self.poll) => {}
            }
        }
    }
}

async fn hinted(hint: Option<&Notify>) {
    match hint {
        Some(hint) => hint.notified().await,
        None => std::future::pending().await,
    }
}

/// Takes steps until one finds no work; for tests and commands. Returns how much work there was.
///
/// # Errors
/// The error of the first step that fails.
pub async fn until_idle<F>(mut step: impl FnMut() -> F) -> Result<u64>
where
    F: Future<Output = Result<u64>>,
{
    let mut handled = 0;
    loop {
        match step().await? {
            0 => return Ok(handled),
            n => handled += n,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_domain::Error;

    /// Longer than any test may take: a worker that waits this long has failed it.
    const FOR_EVER: Duration = Duration::from_secs(3600);
    const SHORT: Duration = Duration::from_millis(1);

    /// Runs a worker whose steps have these results, and stops it in the last one; returns how many steps there were.
    async fn run(poll: Duration, hint: Option<&Notify>, results: &[Result<u64>]) -> usize {
        let stop = CancellationToken::new();
        let mut steps = 0;
        let step = || {
            let result = results[steps].clone();
            steps += 1;
            if steps == results.len() {
                stop.cancel();
            }
            std::future::ready(result)
        };
        let worker = Worker { name: "test", failure: "a step failed", poll, hint, step };
        tokio::time::timeout(Duration::from_secs(60), worker.run(&stop)).await.unwrap();
        steps
    }

    #[tokio::test]
    async fn a_worker_goes_on_at_once_while_it_finds_work() {
        assert_eq!(run(FOR_EVER, None, &[Ok(1), Ok(7), Ok(0)]).await, 3);
    }

    #[tokio::test]
    async fn a_worker_polls_after_a_step_without_work_and_after_a_failure() {
        assert_eq!(run(SHORT, None, &[Ok(0), Err(Error::internal("passing")), Ok(0)]).await, 3);
    }

    #[tokio::test]
    async fn a_hint_ends_the_wait() {
        let hint = Notify::new();
        hint.notify_one();
        assert_eq!(run(FOR_EVER, Some(&hint), &[Ok(0), Ok(0)]).await, 2);
    }

    #[tokio::test]
    async fn until_idle_adds_up_and_stops_at_an_error() {
        let mut left = 3;
        let all = until_idle(|| {
            left -= 1;
            std::future::ready(Ok(left))
        });
        assert!(matches!(all.await, Ok(3)));
        assert!(until_idle(async || Err(Error::internal("lasting"))).await.is_err());
    }
}
