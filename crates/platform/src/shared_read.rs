//! A read that requests share: a request takes the result of any read that begins after it has asked. So the result is
//! as fresh as one of its own, and however many requests ask at the same time, at most two reads answer them. An answer
//! made of many figures asks once for all of them: see [`sharing_reads`].

use crate::limits::unavailable;
use bailiwick_domain::Result;
use bailiwick_store::replica;
use moka::future::Cache;
use std::{
    fmt,
    sync::{
        Arc, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};
use tokio::sync::Mutex;

/// The longest read. The others wait for it, so a connection that is lost without a word must not hold them up; it is
/// longer than the longest wait for a connection.
const LONGEST: Duration = Duration::from_secs(10);

/// Most reads of one kind whose last results are kept, and for how long after the last request for them.
const KEPT: u64 = 256;
const KEPT_FOR: Duration = Duration::from_secs(10);

/// How many shared reads have begun, whatever they read. The number of a read tells whether it began after a request.
static BEGUN: AtomicU64 = AtomicU64::new(0);

tokio::task_local! {
    /// How many shared reads had begun before the present answer; see [`sharing_reads`].
    static BEFORE_ANSWER: u64;
}

/// Makes an answer with many figures, such as a page: a read that begins after the answer is begun serves all of them.
/// They include every change that was committed before. Not for a request that makes a change between two figures.
pub async fn sharing_reads<T>(make: impl Future<Output = T>) -> T {
    BEFORE_ANSWER.scope(BEGUN.load(Ordering::SeqCst), make).await
}

/// The last read of one kind. Requests that read from a replica share reads with each other alone: what the replica
/// shows may be older than a request that found it behind.
pub struct SharedRead<T> {
    from_primary: Source<T>,
    from_replica: Source<T>,
}

/// The last read from one database.
struct Source<T> {
    /// Held by the request that reads.
    reading: Mutex<()>,
    /// The last result, with its number. Requests that wait share a failure too: otherwise they would meet the same
    /// failure one after the other.
    last: std::sync::Mutex<Option<(u64, Result<T>)>>,
}

impl<T> Default for SharedRead<T> {
    fn default() -> SharedRead<T> {
        SharedRead { from_primary: Source::default(), from_replica: Source::default() }
    }
}

impl<T> Default for Source<T> {
    fn default() -> Source<T> {
        Source { reading: Mutex::default(), last: std::sync::Mutex::default() }
    }
}

impl<T> fmt::Debug for SharedRead<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedRead")
    }
}

impl<T: Clone> SharedRead<T> {
    /// The result of `read`, or of a read that begins after this call; within [`sharing_reads`], after the answer
    /// is begun.
    ///
    /// # Errors
    /// Those of the read; 503 if it takes longer than ten seconds.
    pub async fn get(&self, read: impl Future<Output = Result<T>>) -> Result<T> {
        let begun = || BEGUN.load(Ordering::SeqCst);
        self.source()
            .begun_after(BEFORE_ANSWER.try_with(|before| *before).unwrap_or_else(|_| begun()), read)
            .await
    }

    fn source(&self) -> &Source<T> {
        if replica::is_read() { &self.from_replica } else { &self.from_primary }
    }
}

impl<T: Clone> Source<T> {
    async fn begun_after(&self, before: u64, read: impl Future<Output = Result<T>>) -> Result<T> {
        // A failure from before this call may be over.
        let called = BEGUN.load(Ordering::SeqCst);
        let last = || self.last_after(before).filter(|(number, result)| result.is_ok() || *number > called);
        if let Some((_, result)) = last() {
            return result;
        }
        let _reading = self.reading.lock().await;
        if let Some((_, result)) = last() {
            return result;
        }
        // If a request goes away while it reads, the old result stays. Its number is too low for those that wait, so
        // the next of them reads.
        let number = BEGUN.fetch_add(1, Ordering::SeqCst) + 1;
        // What this read shares with others must begin after it as well: it serves requests that have asked since its
        // own answer was begun.
        let result = BEFORE_ANSWER
            .scope(number, tokio::time::timeout(LONGEST, read))
            .await
            .unwrap_or_else(|_| Err(unavailable("a read that requests share did not end")));
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((number, result.clone()));
        result
    }

    fn last_after(&self, before: u64) -> Option<(u64, Result<T>)> {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().filter(|(number, _)| *number > before).cloned()
    }
}

/// Shared reads of one kind, distinguished by what they read.
pub struct SharedReads<T>(Cache<String, Arc<SharedRead<T>>>);

impl<T: Send + Sync + 'static> Default for SharedReads<T> {
    fn default() -> SharedReads<T> {
        SharedReads(Cache::builder().max_capacity(KEPT).time_to_idle(KEPT_FOR).build())
    }
}

impl<T> fmt::Debug for SharedReads<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedReads")
    }
}

impl<T: Clone + Send + Sync + 'static> SharedReads<T> {
    /// Like [`SharedRead::get`], among the reads with the same `key`. It must hold everything that the result depends
    /// on, such as the scope.
    ///
    /// # Errors
    /// The errors of the read, as [`SharedRead::get`].
    pub async fn get(&self, key: String, read: impl Future<Output = Result<T>>) -> Result<T> {
        self.0.get_with(key, async { Arc::default() }).await.get(read).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_domain::Error;
    use std::sync::Arc;
    use tokio::sync::Semaphore;
    use tokio_util::task::TaskTracker;

    /// A read that waits for a permit and counts itself.
    #[derive(Clone)]
    struct Reads {
        shared: Arc<SharedRead<u64>>,
        begun: Arc<AtomicU64>,
        gate: Arc<Semaphore>,
    }

    impl Default for Reads {
        fn default() -> Reads {
            let (shared, begun) = (Arc::default(), Arc::default());
            Reads { shared, begun, gate: Arc::new(Semaphore::new(0)) }
        }
    }

    impl Reads {
        fn ask(&self) -> tokio::task::JoinHandle<Result<u64>> {
            let this = self.clone();
            TaskTracker::new().spawn(async move {
                let read = async {
                    let number = this.begun.fetch_add(1, Ordering::SeqCst) + 1;
                    this.gate.acquire().await.unwrap().forget();
                    if number == 3 { Err(Error::internal("third")) } else { Ok(number) }
                };
                this.shared.get(read).await
            })
        }

        async fn has_begun(&self, number: u64) {
            while self.begun.load(Ordering::SeqCst) < number {
                tokio::task::yield_now().await;
            }
            tokio::task::yield_now().await;
        }

        fn finish(&self) {
            self.gate.add_permits(1);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn requests_share_the_next_read_and_never_one_that_began_before_them() {
        let reads = Reads::default();
        let first = reads.ask();
        reads.has_begun(1).await;
        let requests: Vec<_> = (0..20).map(|_| reads.ask()).collect();
        tokio::task::yield_now().await;
        reads.finish();
        assert_eq!(first.await.unwrap().unwrap(), 1);
        reads.has_begun(2).await;
        reads.finish();
        for request in requests {
            assert_eq!(request.await.unwrap().unwrap(), 2);
        }
        assert_eq!(reads.begun.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_read_that_does_not_end_is_given_up() {
        let reads = Reads::default();
        let first = reads.ask();
        reads.has_begun(1).await;
        let next = reads.ask();
        assert!(first.await.unwrap().is_err());
        reads.has_begun(2).await;
        reads.finish();
        assert_eq!(next.await.unwrap().unwrap(), 2);
    }

    #[tokio::test]
    async fn an_answer_shares_what_was_read_since_it_was_begun() {
        let reads = Reads::default();
        let read = || async {
            reads.finish();
            reads.ask().await.unwrap().unwrap()
        };
        let shared = || reads.shared.get(async { Ok(reads.begun.fetch_add(1, Ordering::SeqCst) + 1) });
        assert_eq!(read().await, 1);
        sharing_reads(async {
            assert_eq!(shared().await.unwrap(), 2, "the first one is older than the answer");
            assert_eq!(shared().await.unwrap(), 2);
            let now = || BEGUN.load(Ordering::SeqCst);
            let source = reads.shared.source();
            assert_eq!(source.begun_after(now(), async { Ok(7) }).await.unwrap(), 7);
            assert_eq!(shared().await.unwrap(), 7, "a newer one serves too");
            assert!(source.begun_after(now(), async { Err(Error::internal("lost")) }).await.is_err());
            assert_eq!(shared().await.unwrap(), 3, "a failure that is over does not");
        })
        .await;
        assert_eq!(shared().await.unwrap(), 4, "without an answer each call reads");
    }

    #[tokio::test]
    async fn a_read_inside_of_a_shared_read_begins_after_it() {
        let (outer, inner) = (SharedReads::default(), SharedRead::default());
        let begun = AtomicU64::new(0);
        let read = || inner.get(async { Ok(begun.fetch_add(1, Ordering::SeqCst) + 1) });
        sharing_reads(async {
            assert_eq!(read().await.unwrap(), 1);
            assert_eq!(
                outer.get("a".to_owned(), read()).await.unwrap(),
                2,
                "the first one is older than the outer read"
            );
            assert_eq!(outer.get("a".to_owned(), read()).await.unwrap(), 2);
            assert_eq!(read().await.unwrap(), 2);
            assert_eq!(outer.get("b".to_owned(), read()).await.unwrap(), 3, "another key is another read");
        })
        .await;
        assert_eq!(outer.get("a".to_owned(), read()).await.unwrap(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_is_shared_and_a_request_that_goes_away_is_replaced() {
        let reads = Reads::default();
        let gone = reads.ask();
        reads.has_begun(1).await;
        let next = reads.ask();
        tokio::task::yield_now().await;
        gone.abort();
        reads.has_begun(2).await;
        let both = [reads.ask(), reads.ask()];
        tokio::task::yield_now().await;
        reads.finish();
        assert_eq!(next.await.unwrap().unwrap(), 2);
        reads.has_begun(3).await;
        reads.finish();
        for request in both {
            assert!(request.await.unwrap().is_err());
        }
        assert_eq!(reads.begun.load(Ordering::SeqCst), 3);
    }
}
