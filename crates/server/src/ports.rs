//! The real clock and the real randomness: the only place where the process asks the operating system for them.

use bailiwick_domain::{Clock, Entropy, Ts};

/// The operating system's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[allow(clippy::disallowed_methods, reason = "this is the Clock")]
    fn now(&self) -> Ts {
        jiff::Timestamp::now().into()
    }
}

/// The operating system's generator.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    #[allow(
        clippy::disallowed_methods,
        clippy::expect_used,
        reason = "this is the Entropy; without it nothing is safe"
    )]
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("the operating system has no randomness");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_domain::ports::random;

    #[test]
    fn time_is_past_the_writing_of_this_line_and_randomness_differs() {
        assert!(SystemClock.now() > Ts::from_secs(1_760_000_000));
        assert_ne!(random::<32>(&SystemEntropy), random::<32>(&SystemEntropy));
    }
}
