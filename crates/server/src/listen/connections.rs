//! Limits the open connections. All workers of a front share one [`Connections`]: it is locked when a connection begins
//! and ends, never for a request.
//!
//! When a client address has used its share, or the front is full, the connection that has been idle longest is closed
//! for the new one. A connection with a request in flight never is.

use super::connection_state::ConnectionState;
use bailiwick_domain::{
    metrics::{Counter, MetricKind, Page},
    net::Network,
};
use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// How many of the longest idle connections one search remembers, so that a flood of newcomers costs few searches.
const FOUND: usize = 64;
/// After a search in which every connection was busy, no other search follows for this long.
const SEARCH_PAUSE: Duration = Duration::from_millis(10);

/// Bounds on open connections.
#[derive(Clone, Debug)]
pub struct Limits {
    /// All of them.
    pub open: usize,
    /// Connections of one client address: an IPv4 address or an IPv6 network of 64 bits.
    pub of_one_address: usize,
    /// Peers without a limit of their own, because they forward for many clients.
    pub trusted: Vec<Network>,
}

/// The open connections of a front.
#[derive(Debug)]
pub struct Connections {
    limits: Limits,
    state: Mutex<State>,
    closed: PerReason,
    refused: PerReason,
}

#[derive(Debug, Default)]
struct PerReason {
    address: Counter,
    full: Counter,
}

#[derive(Debug, Default)]
struct State {
    next_id: u64,
    open: HashMap<u64, Open>,
    by_address: HashMap<IpAddr, Vec<u64>>,
    /// The longest idle connections of the last search and since when they were idle; the longest is last.
    found: Vec<(Instant, u64)>,
    no_search_before: Option<Instant>,
}

#[derive(Debug)]
struct Open {
    state: Arc<ConnectionState>,
    /// The address that it counts towards; `None` = a trusted proxy.
    address: Option<IpAddr>,
}

/// The place of one open connection; dropping it gives the place back.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    connections: Arc<Connections>,
    id: u64,
    address: Option<IpAddr>,
    /// The connection's state.
    pub(super) state: Arc<ConnectionState>,
}

impl Connections {
    /// None open.
    pub fn new(limits: Limits) -> Arc<Connections> {
        Arc::new(Connections {
            limits,
            state: Mutex::default(),
            closed: PerReason::default(),
            refused: PerReason::default(),
        })
    }

    /// A place for a new connection. `None`: all places are taken, and no idle connection can be closed for it.
    pub(super) fn admit(self: &Arc<Self>, peer: IpAddr) -> Option<ConnectionSlot> {
        let address = self.share_of(peer);
        let mut state = self.state();
        let of_address = address.and_then(|address| state.by_address.get(&address)).map_or(0, Vec::len);
        if of_address >= self.limits.of_one_address {
            if !address.is_some_and(|address| state.close_idle_of(address)) {
                self.refused.address.one();
                return None;
            }
            self.closed.address.one();
        } else if state.open.len() >= self.limits.open {
            if !state.close_longest_idle() {
                self.refused.full.one();
                return None;
            }
            self.closed.full.one();
        }
        let connection = Arc::new(ConnectionState::new());
        let id = state.insert(Open { state: Arc::clone(&connection), address });
        drop(state);
        Some(ConnectionSlot { connections: Arc::clone(self), id, address, state: connection })
    }

    /// Closes the longest idle connection, when the process has no descriptor left for another one.
    pub(super) fn make_room(&self) {
        if self.state().close_longest_idle() {
            self.closed.full.one();
        }
    }

    /// The series of these connections.
    pub fn page(&self) -> String {
        let state = self.state();
        let idle = state.open.values().filter(|open| open.state.idle_since().is_some()).count();
        let busy = state.open.len() - idle;
        drop(state);
        let mut page = Page::default();
        let help = "Open connections; idle: without a request in flight.";
        let mut family = page.family("bailiwick_http_connections", MetricKind::Gauge, help);
        family.value(&[("state", "busy")], busy);
        family.value(&[("state", "idle")], idle);
        let help = "Connections that may be open.";
        page.single("bailiwick_http_connections_max", MetricKind::Gauge, help, self.limits.open);
        for (name, help, counts) in [
            (
                "bailiwick_http_connections_closed_total",
                "Idle connections closed to make room for new ones.",
                &self.closed,
            ),
            (
                "bailiwick_http_connections_refused_total",
                "New connections closed at once because no idle connection could make room.",
                &self.refused,
            ),
        ] {
            let mut family = page.family(name, MetricKind::Counter, help);
            family.value(&[("reason", "address")], counts.address.get());
            family.value(&[("reason", "full")], counts.full.get());
        }
        page.finish()
    }

    /// The address that a peer counts towards; `None` for a trusted proxy.
    fn share_of(&self, peer: IpAddr) -> Option<IpAddr> {
        let peer = peer.to_canonical();
        if self.limits.trusted.iter().any(|network| network.contains(peer)) {
            return None;
        }
        Some(match peer {
            IpAddr::V4(_) => peer,
            IpAddr::V6(ip) => IpAddr::V6(Ipv6Addr::from_bits(ip.to_bits() >> 64 << 64)),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn insert(&mut self, open: Open) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        self.put(id, open);
        id
    }

    fn put(&mut self, id: u64, open: Open) {
        if let Some(address) = open.address {
            self.by_address.entry(address).or_default().push(id);
        }
        self.open.insert(id, open);
    }

    fn remove(&mut self, id: u64) -> Option<Open> {
        let open = self.open.remove(&id)?;
        if let Some(address) = open.address
            && let Some(ids) = self.by_address.get_mut(&address)
        {
            ids.retain(|other| *other != id);
            if ids.is_empty() {
                self.by_address.remove(&address);
            }
        }
        Some(open)
    }

    /// False when no connection of the address is idle.
    fn close_idle_of(&mut self, address: IpAddr) -> bool {
        let ids = self.by_address.get(&address).into_iter().flatten();
        let idle = ids.filter_map(|id| Some((self.open.get(id)?.state.idle_since()?, *id)));
        let longest = idle.min();
        longest.is_some_and(|(_, id)| self.close(id))
    }

    /// False when no connection is idle.
    fn close_longest_idle(&mut self) -> bool {
        if self.close_found() {
            return true;
        }
        let now = Instant::now();
        if self.no_search_before.is_some_and(|at| now < at) {
            return false;
        }
        let idle = self.open.iter().filter_map(|(id, open)| Some((open.state.idle_since()?, *id)));
        self.found = idle.collect();
        if self.found.len() > FOUND {
            self.found.select_nth_unstable(FOUND);
            self.found.truncate(FOUND);
        }
        self.found.sort_unstable_by(|a, b| b.cmp(a));
        let closed = self.close_found();
        self.no_search_before = (!closed).then_some(now + SEARCH_PAUSE);
        closed
    }

    /// Closes the longest idle connection of the last search that has been idle ever since.
    fn close_found(&mut self) -> bool {
        while let Some((since, id)) = self.found.pop() {
            let still = self.open.get(&id).is_some_and(|open| open.state.idle_since() == Some(since));
            if still && self.close(id) {
                return true;
            }
        }
        false
    }

    /// Asks a connection to end; its place is free from now on.
    fn close(&mut self, id: u64) -> bool {
        let open = self.remove(id);
        open.is_some_and(|open| {
            open.state.ask_to_end();
            true
        })
    }
}

impl ConnectionSlot {
    /// Takes the place back: a request arrived before the connection noticed that it was asked to end. Until the answer
    /// is sent, more connections than the limits allow may be open.
    pub(super) fn stay(&self) {
        let open = Open { state: Arc::clone(&self.state), address: self.address };
        let mut state = self.connections.state();
        if !state.open.contains_key(&self.id) {
            state.put(self.id, open);
        }
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.connections.state().remove(self.id);
    }
}

#[cfg(test)]
mod tests;
