//! Resolves names. A look-up blocks a thread until the name service answers or gives up, and an attacker can easily
//! supply names that never resolve. So results, also empty ones, are cached for a moment, concurrent look-ups of a name
//! share one answer, and each tenant may have only a few look-ups open.

use bailiwick_domain::OrgId;
use futures_util::{
    FutureExt as _,
    future::{BoxFuture, Shared},
};
use std::{
    collections::HashMap,
    io,
    net::{IpAddr, ToSocketAddrs as _},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};

/// Names looked up at once.
const AT_ONCE: usize = 32;
/// Of one tenant.
const OF_ONE: usize = 4;
/// How long an answer is cached: a flush looks the same name up many times.
const KEPT_FOR: Duration = Duration::from_secs(15);
/// Answers, and tenants, kept before idle ones are dropped.
const MANY: usize = 4096;

/// Asks the name service; may take long.
pub(crate) type Lookup = Arc<dyn Fn(&str) -> io::Result<Vec<IpAddr>> + Send + Sync>;

/// The result of a look-up, and its time.
#[derive(Clone)]
struct Answer {
    at: Instant,
    found: Result<Arc<[IpAddr]>, Arc<str>>,
}

type PendingLookup = Shared<BoxFuture<'static, Answer>>;

/// Finds the addresses of names.
pub(crate) struct Resolver {
    ask: Lookup,
    cache: Mutex<HashMap<String, PendingLookup>>,
    turns: Arc<Semaphore>,
    turns_of: Mutex<HashMap<OrgId, Arc<Semaphore>>>,
}

impl Resolver {
    /// Those the system knows.
    pub(crate) fn of_the_system() -> Resolver {
        Resolver::new(Arc::new(|host| Ok((host, 0).to_socket_addrs()?.map(|address| address.ip()).collect())))
    }

    pub(crate) fn new(ask: Lookup) -> Resolver {
        Resolver {
            ask,
            cache: Mutex::default(),
            turns: Arc::new(Semaphore::new(AT_ONCE)),
            turns_of: Mutex::default(),
        }
    }

    /// The addresses of a name, from now or a moment ago. `within`: time for the name service, from when it is asked.
    pub(crate) async fn find(&self, tenant: OrgId, host: &str, within: Duration) -> io::Result<Vec<IpAddr>> {
        let answer = match self.cached(host, within).await? {
            Some(answer) => answer,
            None => self.look_up(tenant, host, within).await?,
        };
        match answer.found {
            Ok(found) => Ok(found.to_vec()),
            Err(e) => Err(io::Error::other(e.to_string())),
        }
    }

    /// The cached or pending answer; none when it is old.
    async fn cached(&self, host: &str, within: Duration) -> io::Result<Option<Answer>> {
        let lookup = locked(&self.cache).get(host).cloned();
        let Some(lookup) = lookup else { return Ok(None) };
        let answer = timeout(within, lookup).await?;
        Ok((answer.at.elapsed() < KEPT_FOR).then_some(answer))
    }

    async fn look_up(&self, tenant: OrgId, host: &str, within: Duration) -> io::Result<Answer> {
        let own = self.turns_of(tenant).acquire_owned().await.map_err(io::Error::other)?;
        let turn = self.turns.clone().acquire_owned().await.map_err(io::Error::other)?;
        // Another caller may have asked meanwhile.
        if let Some(answer) = self.cached(host, within).await? {
            return Ok(answer);
        }
        let (ask, name) = (self.ask.clone(), host.to_owned());
        let asking = tokio::task::spawn_blocking(move || {
            let found = ask(&name);
            // Not when a caller takes the answer, which may be much later.
            let at = Instant::now();
            // Only when the thread is free again, even if the caller has given up before.
            drop((own, turn));
            (at, found)
        });
        let lookup = asking.map(|ended| {
            let (at, found) = ended.unwrap_or_else(|e| (Instant::now(), Err(io::Error::other(e))));
            Answer { at, found: found.map(Arc::from).map_err(|e| e.to_string().into()) }
        });
        let lookup = lookup.boxed().shared();
        self.keep(host, lookup.clone());
        Ok(timeout(within, lookup).await?)
    }

    fn keep(&self, host: &str, lookup: PendingLookup) {
        let mut cache = locked(&self.cache);
        if cache.len() >= MANY {
            let is_fresh = |lookup: &PendingLookup| lookup.peek().is_some_and(|a| a.at.elapsed() < KEPT_FOR);
            cache.retain(|_, lookup| is_fresh(lookup));
        }
        if cache.len() >= MANY {
            cache.clear();
        }
        cache.insert(host.to_owned(), lookup);
    }

    fn turns_of(&self, tenant: OrgId) -> Arc<Semaphore> {
        let mut all = locked(&self.turns_of);
        if all.len() >= MANY {
            // Callers that wait or ask hold one too.
            all.retain(|_, turns| Arc::strong_count(turns) > 1);
        }
        all.entry(tenant).or_insert_with(|| Arc::new(Semaphore::new(OF_ONE))).clone()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{
        atomic::{AtomicUsize, Ordering},
        mpsc,
    };

    const LONG: Duration = Duration::from_secs(60);

    fn tenant(n: u128) -> OrgId {
        OrgId(uuid::Uuid::from_u128(n))
    }

    /// Names that begin with `dead` are not answered while the sender lives; how many were asked.
    fn names() -> (Arc<Resolver>, Arc<AtomicUsize>, mpsc::Sender<()>) {
        let (hold, held) = mpsc::channel();
        let (lookups, held) = (Arc::new(AtomicUsize::new(0)), Mutex::new(held));
        let held = Arc::new(held);
        let count = lookups.clone();
        let ask = move |host: &str| {
            count.fetch_add(1, Ordering::SeqCst);
            if host.starts_with("dead") {
                let _ = locked(&held).recv();
                return Err(io::Error::other("no answer"));
            }
            Ok(vec![IpAddr::from([8, 8, 8, 8])])
        };
        (Arc::new(Resolver::new(Arc::new(ask))), lookups, hold)
    }

    /// Moves the clock.
    async fn later(time: Duration) {
        tokio::time::pause();
        tokio::time::advance(time).await;
        tokio::time::resume();
    }

    #[tokio::test]
    async fn a_name_is_cached_for_a_while() {
        let (names, lookups, _hold) = names();
        let both = tokio::join!(names.find(tenant(1), "a", LONG), names.find(tenant(2), "a", LONG));
        assert!(both.0.is_ok() && both.1.is_ok());
        names.find(tenant(1), "a", LONG).await.unwrap();
        assert_eq!(lookups.load(Ordering::SeqCst), 1);
        names.find(tenant(1), "b", LONG).await.unwrap();
        assert_eq!(lookups.load(Ordering::SeqCst), 2);
        later(KEPT_FOR).await;
        names.find(tenant(1), "a", LONG).await.unwrap();
        assert_eq!(lookups.load(Ordering::SeqCst), 3);
    }

    #[tokio::test]
    async fn an_answer_that_nobody_has_taken_grows_old() {
        let (names, lookups, hold) = names();
        let mut given_up = Box::pin(names.find(tenant(1), "dead", LONG));
        assert!(futures_util::poll!(&mut given_up).is_pending());
        drop((given_up, hold));
        while names.turns.available_permits() < AT_ONCE {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        later(KEPT_FOR).await;
        assert!(names.find(tenant(1), "dead", LONG).await.is_err());
        assert_eq!(lookups.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn lookups_of_dead_names_do_not_block_other_tenants() {
        let (names, lookups, hold) = names();
        let mut waiting = Vec::new();
        for n in 0..100 {
            let names = names.clone();
            waiting.push(Box::pin(async move { names.find(tenant(1), &format!("dead{n}"), LONG).await }));
        }
        for dead in &mut waiting {
            assert!(futures_util::poll!(dead).is_pending());
        }
        let limit = Duration::from_secs(20);
        let found = timeout(limit, names.find(tenant(2), "alive", LONG)).await;
        assert_eq!(found.unwrap().unwrap().len(), 1);
        // The threads of callers that have given up are not free before they end.
        drop(waiting);
        assert!(lookups.load(Ordering::SeqCst) <= OF_ONE + 1);
        drop(hold);
    }

    #[tokio::test]
    async fn failed_lookups_are_cached_too() {
        let (names, lookups, hold) = names();
        drop(hold);
        for _ in 0..3 {
            assert!(names.find(tenant(1), "dead", LONG).await.is_err());
        }
        assert_eq!(lookups.load(Ordering::SeqCst), 1);
    }
}
