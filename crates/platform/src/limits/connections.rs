//! The limit of concurrent connections to webhooks and chats: over all hosts and tenants, for alerts and events.

use bailiwick_domain::OrgId;
use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};
use tokio::sync::oneshot;

/// Connections of the process. Each is one of the 1024 files that a process may open by default; the other half is for
/// callers and the database.
const ALL: usize = 512;
/// Connections of one tenant, over all its hosts. Eight tenants must use all of theirs before another one waits.
const OF_TENANT: usize = 64;

/// Open connections. A caller without a free connection waits behind the other callers of its tenant. The next free
/// one goes to the waiting tenant that has fewest. So the hosts of one tenant that do not answer delay another tenant
/// by one answer at most.
#[derive(Clone, Debug)]
pub struct ConnectionLimit(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    free: usize,
    of_tenant: usize,
    tenants: HashMap<OrgId, Tenant>,
    /// The waiting tenants that may have more connections: open connections, number of the wait, tenant.
    waiting: BTreeSet<(usize, u64, OrgId)>,
    /// Number of the latest wait.
    last_wait: u64,
}

#[derive(Debug, Default)]
struct Tenant {
    open: usize,
    line: VecDeque<oneshot::Sender<ConnectionPermit>>,
    /// Its number among the waiting tenants.
    since: Option<u64>,
}

/// The permit for one connection, until it is dropped.
#[derive(Debug)]
pub struct ConnectionPermit {
    all: ConnectionLimit,
    tenant: OrgId,
}

impl Default for ConnectionLimit {
    fn default() -> ConnectionLimit {
        ConnectionLimit::of(ALL, OF_TENANT)
    }
}

impl ConnectionLimit {
    fn of(all: usize, of_tenant: usize) -> ConnectionLimit {
        let state =
            State { free: all, of_tenant, tenants: HashMap::new(), waiting: BTreeSet::new(), last_wait: 0 };
        ConnectionLimit(Arc::new(Mutex::new(state)))
    }

    /// Waits for a connection of a tenant.
    pub async fn acquire(&self, tenant: OrgId) -> ConnectionPermit {
        let receiver = {
            let mut state = self.lock();
            let (sender, receiver) = oneshot::channel();
            state.tenants.entry(tenant).or_default().line.push_back(sender);
            state.note(tenant);
            receiver
        };
        self.give();
        match receiver.await {
            Ok(connection) => connection,
            // The sender of a waiting caller is never dropped.
            Err(_) => std::future::pending().await,
        }
    }

    /// Gives the free connections to waiting callers.
    fn give(&self) {
        loop {
            let (sender, connection) = {
                let mut state = self.lock();
                let Some((tenant, sender)) = state.next() else { return };
                (sender, ConnectionPermit { all: self.clone(), tenant })
            };
            // A caller that has stopped waiting returns the permit by dropping it, outside the lock.
            drop(sender.send(connection));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        {
            let mut state = self.all.lock();
            state.free += 1;
            state.leave(self.tenant);
        }
        self.all.give();
    }
}

impl State {
    /// The next caller, with a connection for them.
    fn next(&mut self) -> Option<(OrgId, oneshot::Sender<ConnectionPermit>)> {
        while self.free > 0 {
            let (_, _, id) = self.waiting.pop_first()?;
            let Some(tenant) = self.tenants.get_mut(&id) else { continue };
            tenant.since = None;
            let sender = loop {
                match tenant.line.pop_front() {
                    Some(sender) if sender.is_closed() => {}
                    sender => break sender,
                }
            };
            let next_sender = sender.inspect(|_| {
                tenant.open += 1;
                self.free -= 1;
            });
            self.note(id);
            if let Some(sender) = next_sender {
                return Some((id, sender));
            }
        }
        None
    }

    /// Takes back a connection of a tenant.
    fn leave(&mut self, id: OrgId) {
        let Some(tenant) = self.tenants.get_mut(&id) else { return };
        if let Some(since) = tenant.since {
            self.waiting.remove(&(tenant.open, since, id));
            self.waiting.insert((tenant.open - 1, since, id));
        }
        tenant.open -= 1;
        self.note(id);
    }

    /// Adds a tenant to the waiting ones if it waits and may have more connections, and removes an idle one.
    fn note(&mut self, id: OrgId) {
        let Some(tenant) = self.tenants.get_mut(&id) else { return };
        if tenant.line.is_empty() {
            if let Some(since) = tenant.since.take() {
                self.waiting.remove(&(tenant.open, since, id));
            }
            if tenant.open == 0 {
                self.tenants.remove(&id);
            }
        } else if tenant.since.is_none() && tenant.open < self.of_tenant {
            self.last_wait += 1;
            tenant.since = Some(self.last_wait);
            self.waiting.insert((tenant.open, self.last_wait, id));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;
    use std::{future::Future, pin::Pin};

    type Waiting<'c> = Pin<Box<dyn Future<Output = ConnectionPermit> + 'c>>;

    fn tenant(n: u128) -> OrgId {
        OrgId(uuid::Uuid::from_u128(n))
    }

    fn ask(connections: &ConnectionLimit, n: u128) -> Waiting<'_> {
        Box::pin(connections.acquire(tenant(n)))
    }

    /// The permit, if it is available at once.
    fn now(request: &mut Waiting<'_>) -> Option<ConnectionPermit> {
        request.as_mut().now_or_never()
    }

    #[test]
    fn a_limit_in_all_and_for_a_tenant() {
        let connections = ConnectionLimit::of(3, 2);
        let mut one: Vec<_> = (0..3).map(|_| ask(&connections, 1)).collect();
        let mut open: Vec<_> = one.iter_mut().filter_map(now).collect();
        assert_eq!(open.len(), 2);
        let other = now(&mut ask(&connections, 2)).expect("there is one left");
        let mut late = ask(&connections, 3);
        assert!(now(&mut late).is_none());
        // The first tenant has its full share, so it does not get the freed connection.
        drop(other);
        assert!(now(&mut one[2]).is_none());
        let third = now(&mut late).expect("its turn");
        drop(open.pop());
        assert!(now(&mut one[2]).is_some());
        drop((third, open, one, late));
        assert!(connections.lock().tenants.is_empty() && connections.lock().free == 3);
    }

    #[test]
    fn the_tenant_with_fewest_comes_first_however_many_wait_before_it() {
        let connections = ConnectionLimit::of(4, 4);
        let mut greedy: Vec<_> = (0..100).map(|_| ask(&connections, 1)).collect();
        let mut open: Vec<_> = greedy.iter_mut().filter_map(now).collect();
        assert_eq!(open.len(), 4);
        let mut modest: Vec<_> = (2..5).map(|n| ask(&connections, n)).collect();
        assert!(modest.iter_mut().all(|one| now(one).is_none()));
        let mut permits = Vec::new();
        for one in &mut modest {
            drop(open.pop());
            permits.push(now(one).expect("before the hundred"));
        }
        // The greedy tenant has one connection left, like every other; its waiting callers are served in their order.
        drop(permits.pop());
        let got: Vec<_> = greedy.iter_mut().skip(4).filter_map(now).collect();
        assert_eq!(got.len(), 1);
    }

    #[test]
    fn a_caller_that_waits_no_longer_takes_nothing() {
        let connections = ConnectionLimit::of(1, 1);
        let first = now(&mut ask(&connections, 1)).expect("free");
        let mut left = ask(&connections, 2);
        assert!(now(&mut left).is_none());
        drop(left);
        let mut next = ask(&connections, 3);
        assert!(now(&mut next).is_none());
        drop(first);
        let third = now(&mut next).expect("the one before has left");
        // Given, and dropped before it was polled.
        let mut late = ask(&connections, 4);
        assert!(now(&mut late).is_none());
        drop(third);
        drop(late);
        assert!(now(&mut ask(&connections, 5)).is_some());
        assert!(connections.lock().tenants.is_empty());
    }
}
