//! Limits on messages that leave the service: a rate for each tenant, and a concurrency for each destination, so that
//! a slow destination delays only its own messages.

use super::{SlidingWindow, fair_semaphore::KeyedSemaphores};
use bailiwick_domain::{OrgId, Ts};
use std::{sync::Arc, time::Duration};
use tokio::{sync::OwnedSemaphorePermit, time::Instant};

/// Messages of a tenant within [`WINDOW`].
const PER_WINDOW: usize = 50;
const WINDOW: Duration = Duration::from_secs(1);

/// The rate of messages of each tenant.
#[derive(Debug)]
pub struct TenantRateLimit {
    messages: SlidingWindow<OrgId>,
    /// The most within [`WINDOW`].
    most: usize,
    /// The times of the window count from here.
    start: Instant,
}

impl Default for TenantRateLimit {
    fn default() -> TenantRateLimit {
        TenantRateLimit::of(PER_WINDOW)
    }
}

impl TenantRateLimit {
    /// A limit of this many messages within a second.
    pub fn of(per_window: usize) -> TenantRateLimit {
        TenantRateLimit { messages: SlidingWindow::new(WINDOW), most: per_window, start: Instant::now() }
    }

    /// Counts a message.
    ///
    /// # Errors
    /// The limit is reached; the time says when to retry.
    pub fn take(&self, tenant: OrgId, now: Instant) -> Result<(), Instant> {
        let at = Ts(0).plus(now.saturating_duration_since(self.start));
        self.messages.take(tenant, &[(self.most, WINDOW)], at).map_err(|wait| now + wait)
    }
}

/// The most concurrent tries to a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Concurrency {
    /// In all.
    pub address: usize,
    /// Of one tenant.
    pub tenant: usize,
    /// About one system.
    pub system: usize,
    /// About one system to one recipient.
    pub recipient: usize,
}

/// The destination of a try, and the parties that share its limits.
#[derive(Clone, Debug)]
pub struct Destination {
    /// Host or service that receives the message.
    pub address: Arc<str>,
    /// Tenant of the message.
    pub tenant: OrgId,
    /// System that the message is about.
    pub system: Arc<str>,
    /// Recipient at the address.
    pub recipient: Arc<str>,
    /// Limits.
    pub concurrency: Concurrency,
}

/// The parties that share permits at an address.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Party {
    All,
    Tenant(OrgId),
    System(OrgId, Arc<str>),
    Recipient(OrgId, Arc<str>, Arc<str>),
}

type Sharing = (Arc<str>, Party);

/// Tries in progress. A try waits first among those of its system to the same recipient, then among those of its
/// system, then of its tenant, then among all. So the tries of one party, however many and however slow, take few
/// permits from the others.
#[derive(Debug, Default)]
pub struct DestinationLimits(KeyedSemaphores<Sharing>);

/// A permit until it is dropped.
pub type Permit = Option<OwnedSemaphorePermit>;

/// The permits of recipient, system and tenant.
pub type OwnPermits = (Permit, Permit, Permit);

impl DestinationLimits {
    /// Waits for the permit of the recipient, then of the system, then of the tenant.
    pub async fn acquire_own(&self, to: &Destination) -> OwnPermits {
        let permit = |party: Party, most: usize| self.one_of((to.address.clone(), party), most);
        let recipient = Party::Recipient(to.tenant, to.system.clone(), to.recipient.clone());
        let recipient = permit(recipient, to.concurrency.recipient).await;
        let system = permit(Party::System(to.tenant, to.system.clone()), to.concurrency.system).await;
        (recipient, system, permit(Party::Tenant(to.tenant), to.concurrency.tenant).await)
    }

    /// Waits for a permit among all tries to the address.
    pub async fn acquire_shared(&self, to: &Destination) -> Permit {
        self.one_of((to.address.clone(), Party::All), to.concurrency.address).await
    }

    async fn one_of(&self, sharing: Sharing, most: usize) -> Permit {
        // The semaphores are never closed.
        self.0.of(sharing, most).acquire_owned().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{super::MANY, *};

    #[test]
    fn a_tenant_sends_fifty_messages_in_any_second() {
        let (limit, start) = (TenantRateLimit::default(), Instant::now());
        let tenant = OrgId(uuid::Uuid::nil());
        let (mut now, mut taken): (Instant, Vec<Instant>) = (start, Vec::new());
        while taken.len() < 500 {
            match limit.take(tenant, now) {
                Ok(()) => taken.push(now),
                Err(at) => now = at,
            }
            now += Duration::from_millis(3);
        }
        for window in taken.windows(PER_WINDOW + 1) {
            assert!(window[PER_WINDOW] - window[0] >= WINDOW, "{window:?}");
        }
        // And hardly fewer.
        assert!(taken[499] - start < Duration::from_secs(11), "{:?}", taken[499] - start);
        assert_eq!(limit.take(OrgId(uuid::Uuid::max()), start), Ok(()));
    }

    fn to(address: &str, tenant: u128, system: &str) -> Destination {
        let concurrency = Concurrency { address: 3, tenant: 2, system: 1, recipient: 2 };
        let tenant = OrgId(uuid::Uuid::from_u128(tenant));
        Destination {
            address: address.into(),
            tenant,
            system: system.into(),
            recipient: "r".into(),
            concurrency,
        }
    }

    async fn waits<T>(permit: impl Future<Output = T>) -> bool {
        tokio::time::timeout(Duration::from_millis(20), permit).await.is_err()
    }

    #[tokio::test]
    async fn an_address_takes_a_number_of_tries_of_a_system_of_a_tenant_and_in_all() {
        let limits = DestinationLimits::default();
        let own = limits.acquire_own(&to("a", 1, "x")).await;
        assert!(waits(limits.acquire_own(&to("a", 1, "x"))).await);
        let _other_system = limits.acquire_own(&to("a", 1, "y")).await;
        assert!(waits(limits.acquire_own(&to("a", 1, "z"))).await);
        assert!(!waits(limits.acquire_own(&to("a", 2, "x"))).await);
        assert!(!waits(limits.acquire_own(&to("b", 1, "x"))).await);
        drop(own);
        assert!(!waits(limits.acquire_own(&to("a", 1, "x"))).await);

        let first = limits.acquire_shared(&to("a", 1, "x")).await;
        let _more =
            [limits.acquire_shared(&to("a", 1, "x")).await, limits.acquire_shared(&to("a", 2, "x")).await];
        assert!(waits(limits.acquire_shared(&to("a", 3, "x"))).await);
        assert!(!waits(limits.acquire_shared(&to("b", 3, "x"))).await);
        drop(first);
        assert!(!waits(limits.acquire_shared(&to("a", 3, "x"))).await);
    }

    #[tokio::test]
    async fn a_slow_recipient_leaves_permits_of_its_system_to_another() {
        let limits = DestinationLimits::default();
        let at = |recipient: &str| Destination {
            recipient: recipient.into(),
            concurrency: Concurrency { address: 9, tenant: 9, system: 3, recipient: 2 },
            ..to("a", 1, "x")
        };
        let _slow = [limits.acquire_own(&at("slow")).await, limits.acquire_own(&at("slow")).await];
        assert!(waits(limits.acquire_own(&at("slow"))).await);
        assert!(!waits(limits.acquire_own(&at("healthy"))).await);
    }

    #[tokio::test]
    async fn idle_entries_are_removed() {
        let limits = DestinationLimits::default();
        let permit = limits.acquire_own(&to("held", 1, "x")).await;
        for n in 0..10 * MANY {
            drop(limits.acquire_shared(&to(&n.to_string(), 1, "x")).await);
        }
        assert!(limits.0.len() <= 2 * MANY);
        assert!(waits(limits.acquire_own(&to("held", 1, "x"))).await);
        drop(permit);
    }
}
