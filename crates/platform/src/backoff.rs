//! Growing waits between tries.

use bailiwick_domain::Ts;
use std::time::Duration;

/// Doublings beyond this count make no difference: every schedule has reached its longest wait before.
const MOST_DOUBLINGS: i64 = 16;

/// A schedule of waits after failures in a row: first the listed waits, then the last of them doubled again and again
/// up to the longest.
#[derive(Clone, Copy, Debug)]
pub struct Backoff {
    listed: &'static [Duration],
    longest: Duration,
}

impl Backoff {
    /// A schedule that begins with the listed waits.
    pub const fn new(listed: &'static [Duration], longest: Duration) -> Backoff {
        Backoff { listed, longest }
    }

    /// The longest wait.
    pub const fn longest(&self) -> Duration {
        self.longest
    }

    /// The wait after this many failures in a row; zero counts as one.
    pub fn after(&self, failures: i64) -> Duration {
        let failures = failures.max(1);
        let index = usize::try_from(failures - 1).unwrap_or(usize::MAX);
        if let Some(wait) = self.listed.get(index) {
            return *wait;
        }
        let Some(last) = self.listed.last() else { return self.longest };
        let listed = i64::try_from(self.listed.len()).unwrap_or(i64::MAX);
        let doublings = u32::try_from((failures - listed).min(MOST_DOUBLINGS)).unwrap_or(0);
        last.saturating_mul(1 << doublings).min(self.longest)
    }

    /// The time of the next try after this many failures in a row.
    pub fn next_try(&self, now: Ts, failures: i64) -> Ts {
        now.plus(self.after(failures))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn seconds(n: u64) -> Duration {
        Duration::from_secs(n)
    }

    fn waits<const N: usize>(backoff: Backoff, failures: [i64; N]) -> [u64; N] {
        failures.map(|n| backoff.after(n).as_secs())
    }

    #[test]
    fn one_listed_wait_doubles_up_to_the_longest() {
        const BACKOFF: Backoff = Backoff::new(&[seconds(30)], seconds(14_400));
        assert_eq!(waits(BACKOFF, [0, 1, 2, 3, 4]), [30, 30, 60, 120, 240]);
        assert_eq!(waits(BACKOFF, [10, 20, i64::MAX]), [14_400; 3]);
        assert_eq!(BACKOFF.next_try(Ts(0), 2), Ts::from_secs(60));
    }

    #[test]
    fn several_listed_waits_come_first() {
        const BACKOFF: Backoff = Backoff::new(&[seconds(1), seconds(3), seconds(5)], seconds(300));
        let expected = [1, 3, 5, 10, 20, 160, 300, 300, 300];
        assert_eq!(waits(BACKOFF, [1, 2, 3, 4, 5, 8, 9, 10, i64::MAX]), expected);
        assert_eq!(waits(BACKOFF, [i64::MIN, 0]), [1, 1]);
    }
}
