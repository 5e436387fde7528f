//! The real clock and the real randomness: the only code of the process that asks the operating system for them.

use bailiwick_domain::{Clock, Entropy, Ts};
use std::cell::RefCell;

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

/// Random bytes that a thread has fetched for several short requests: fetching one id for every HTTP request would cost
/// a system call each. Every byte is used once and erased.
struct Fetched {
    bytes: [u8; 512],
    used: usize,
}

impl Fetched {
    /// The length of an id; longer requests are fetched separately.
    const SHORT: usize = 16;

    fn take(&mut self, into: &mut [u8]) {
        if self.bytes.len() - self.used < into.len() {
            fetch(&mut self.bytes);
            self.used = 0;
        }
        let given = &mut self.bytes[self.used..self.used + into.len()];
        into.copy_from_slice(given);
        given.fill(0);
        self.used += into.len();
    }
}

thread_local! {
    static FETCHED: RefCell<Fetched> = const { RefCell::new(Fetched { bytes: [0; 512], used: 512 }) };
}

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        if bytes.len() > Fetched::SHORT {
            return fetch(bytes);
        }
        // A thread that ends has none.
        let taken = FETCHED.try_with(|fetched| fetched.borrow_mut().take(bytes));
        if taken.is_err() {
            fetch(bytes);
        }
    }
}

#[allow(
    clippy::disallowed_methods,
    clippy::expect_used,
    reason = "this is the Entropy; without it nothing is safe"
)]
fn fetch(bytes: &mut [u8]) {
    getrandom::fill(bytes).expect("the operating system has no randomness");
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_domain::ports::random;
    use std::collections::HashSet;

    #[test]
    fn time_is_past_the_writing_of_this_line_and_randomness_differs() {
        assert!(SystemClock.now() > Ts::from_secs(1_760_000_000));
        assert_ne!(random::<32>(&SystemEntropy), random::<32>(&SystemEntropy));
    }

    #[test]
    fn nothing_that_is_given_out_comes_again_or_stays() {
        let ids = || (0..1000).map(|_| random::<16>(&SystemEntropy)).collect::<Vec<_>>();
        let other = std::thread::spawn(ids).join().unwrap();
        let all: HashSet<[u8; 16]> = ids().into_iter().chain(other).collect();
        assert_eq!(all.len(), 2000);
        // Lengths that do not divide the size of the buffer.
        let odd: HashSet<[u8; 15]> = (0..1000).map(|_| random::<15>(&SystemEntropy)).collect();
        assert_eq!(odd.len(), 1000);
        FETCHED.with_borrow(|fetched| assert_eq!(fetched.bytes[..fetched.used], vec![0; fetched.used]));
    }
}
