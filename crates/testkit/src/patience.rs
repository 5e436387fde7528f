//! Waits for effects of the service or another program, without a verdict that depends on the speed of the machine.

use std::time::{Duration, Instant};

/// How long a test waits for an effect that must come. A passing test waits only as long as the effect takes, so the
/// bound is generous: it ends a test that would hang, and says nothing about speed.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Delay between two cheap checks.
const PAUSE: Duration = Duration::from_millis(10);

/// Waits until the condition holds.
///
/// # Panics
/// When it does not within [`PATIENCE`].
pub async fn eventually(what: &str, is_so: impl AsyncFnMut() -> bool) {
    eventually_or(|| what.to_owned(), is_so).await;
}

/// As [`eventually`]; the explanation is made when the condition does not hold in time.
///
/// # Panics
/// As there.
pub async fn eventually_or(explain: impl Fn() -> String, mut is_so: impl AsyncFnMut() -> bool) {
    found(explain, async || is_so().await.then_some(())).await;
}

/// Asks until there is an answer, and returns it.
///
/// # Panics
/// When there is none within [`PATIENCE`].
pub async fn found<T>(explain: impl Fn() -> String, mut attempt: impl AsyncFnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = attempt().await {
            return answer;
        }
        assert!(Instant::now() < end, "not within {PATIENCE:?}: {}", explain());
        tokio::time::sleep(PAUSE).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_answer_is_returned_as_soon_as_there_is_one() {
        let mut attempts = 0;
        let answer = found(String::new, async || {
            attempts += 1;
            (attempts == 3).then_some("here")
        });
        assert_eq!(answer.await, "here");
        assert_eq!(attempts, 3);
        eventually("nothing to wait for", async || true).await;
    }
}
