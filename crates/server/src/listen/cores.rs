//! Assigns each worker a core of its own. Busy workers never sleep, so two of them on one core would each wait for the
//! other's time slice while another core is idle now and then.

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The cores of this process.
#[derive(Clone, Copy)]
pub(super) struct Cores(Option<CpuSet>);

impl Cores {
    /// The cores that this thread may use. None = they are unknown or fewer than the workers: then the kernel
    /// schedules.
    pub(super) fn of(workers: usize) -> Cores {
        let all = sched_getaffinity(None).ok();
        Cores(
            all.filter(|all| workers > 1 && usize::try_from(all.count()).is_ok_and(|count| count == workers)),
        )
    }

    /// Pins this thread to the core of this worker. Where that is not allowed, everything works a little slower.
    pub(super) fn keep_to(self, worker: usize) {
        let Some(all) = self.0 else { return };
        let Some(core) = (0..CpuSet::MAX_CPU).filter(|core| all.is_set(*core)).nth(worker) else { return };
        let mut own = CpuSet::new();
        own.set(core);
        if let Err(e) = sched_setaffinity(None, &own) {
            tracing::debug!(worker, "no core of its own: {e}");
        }
    }

    /// Unpins this thread, which a worker has started.
    pub(super) fn anywhere(self) {
        if let Some(all) = self.0 {
            let _ = sched_setaffinity(None, &all);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_keeps_to_one_core_and_what_it_starts_does_not() {
        let all = sched_getaffinity(None).unwrap();
        let workers = usize::try_from(all.count()).unwrap();
        let cores = Cores::of(workers);
        let worker = std::thread::spawn(move || {
            cores.keep_to(workers - 1);
            let own = sched_getaffinity(None).unwrap().count();
            cores.anywhere();
            (own, sched_getaffinity(None).unwrap().count())
        });
        assert_eq!(worker.join().unwrap(), (1, all.count()));
        assert!(Cores::of(workers + 1).0.is_none() && Cores::of(1).0.is_none());
    }
}
