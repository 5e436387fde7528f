//! One core for each test: its threads wake each other all the time, and a thread on another core is woken much later
//! and at a higher price. The tests together still use every core.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::sync::{LazyLock, Mutex, PoisonError};

/// The cores of this process, with the number of tests that run on each.
static CORES: LazyLock<Mutex<Vec<(usize, usize)>>> = LazyLock::new(|| {
    let all = sched_getaffinity(None).unwrap_or_default();
    let mut cores: Vec<_> =
        (0..CpuSet::MAX_CPU).filter(|core| all.is_set(*core)).map(|core| (core, 0)).collect();
    // Two test programs at the same time begin with different cores.
    if let Some(first) = usize::try_from(std::process::id()).ok().and_then(|id| id.checked_rem(cores.len())) {
        cores.rotate_left(first);
    }
    Mutex::new(cores)
});

/// If this variable is set, tests use all cores, so that their threads truly run at the same time.
pub const ALL_CORES: &str = "BAILIWICK_TEST_ALL_CORES";

/// Runs a test with two worker threads, all on the core that has the fewest tests.
///
/// # Panics
/// When the test does.
pub fn run(test: impl Future<Output = ()>) {
    let _core = if std::env::var_os(ALL_CORES).is_none() { Core::take() } else { None };
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(2).enable_all().build().expect("a runtime").block_on(test);
}

/// Starts a program on all cores: tests may share it.
pub(crate) fn unpinned<T>(start: impl FnOnce() -> T) -> T {
    let before = sched_getaffinity(None);
    pin(CORES.lock().unwrap_or_else(PoisonError::into_inner).iter().map(|(core, _)| *core));
    let started = start();
    if let Ok(before) = before {
        let _ = sched_setaffinity(None, &before);
    }
    started
}

/// Threads that this one starts from now on keep to the same cores. Where that is not allowed, tests are a little
/// slower.
fn pin(cores: impl Iterator<Item = usize>) {
    let mut allowed = CpuSet::new();
    cores.for_each(|core| allowed.set(core));
    let _ = sched_setaffinity(None, &allowed);
}

/// The core of a test; given back when dropped.
struct Core(usize);

impl Core {
    fn take() -> Option<Core> {
        let mut cores = CORES.lock().unwrap_or_else(PoisonError::into_inner);
        let (core, tests) = cores.iter_mut().min_by_key(|(_, tests)| *tests)?;
        *tests += 1;
        let core = *core;
        drop(cores);
        pin(std::iter::once(core));
        Some(Core(core))
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        let mut cores = CORES.lock().unwrap_or_else(PoisonError::into_inner);
        cores.iter_mut().filter(|(core, _)| *core == self.0).for_each(|(_, tests)| *tests -= 1);
        pin(cores.iter().map(|(core, _)| *core));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_keeps_to_one_core_and_what_it_starts_does_not() {
        let count = || sched_getaffinity(None).unwrap().count();
        let all = count();
        if std::env::var_os(ALL_CORES).is_some() {
            return;
        }
        run(async move {
            assert_eq!(count(), 1);
            assert_eq!(tokio::task::spawn(async move { count() }).await.unwrap(), 1, "its workers too");
            assert_eq!(unpinned(count), all);
            assert_eq!(count(), 1);
        });
        assert_eq!(count(), all);
    }
}
