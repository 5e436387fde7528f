//! Pushes of one tenant share requests: pushes that arrive at the same moment, or while a request of this tenant has no
//! answer yet, are sent together. A push that meets no other is sent at once; one that meets another waits for
//! [`QUEUE_TIMEOUT`] at most, so a request that hangs does not hold up the rest.

use super::{Repeat, RouterClient, RouterError, TenantRequest, WholeAnswer, expect_ok};
use bytes::Bytes;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::{
    sync::{Semaphore, oneshot},
    task::yield_now,
    time::{Instant, timeout},
};

/// Bytes of a request with several pushes; beyond that, pushes are sent by themselves.
const BYTES: usize = 256 * 1024;
/// How long pushes wait for the answer to the request before them. A nearby router answers sooner.
const QUEUE_TIMEOUT: Duration = Duration::from_millis(10);

/// Tenants that push at this moment.
#[derive(Debug, Default)]
pub(super) struct Pushing(Mutex<HashMap<Box<str>, Tenant>>);

#[derive(Debug)]
struct Tenant {
    /// Pushes in progress here; the tenant is dropped with the last one.
    present: usize,
    /// Held by the push with a request in flight.
    turn: Arc<Semaphore>,
    /// The pushes that wait behind the first; none while no first one waits.
    gathering: Option<Others>,
}

#[derive(Debug, Default)]
struct Others {
    bytes: usize,
    pushes: Vec<(Bytes, oneshot::Sender<SharedOutcome>)>,
}

/// The result of the request that included a push. None: the push must be sent by itself, because the router has
/// refused part of the request and only a single request shows which push that is.
type SharedOutcome = Option<Result<(), RouterError>>;

/// How a push travels.
enum PushRole<'a> {
    Alone,
    First(First<'a>),
    Other(oneshot::Receiver<SharedOutcome>),
}

/// Sends the others along or, if it is dropped before, has them send themselves.
struct First<'a> {
    pushing: &'a Pushing,
    tenant: &'a str,
    turn: Arc<Semaphore>,
    has_taken: bool,
}

impl First<'_> {
    fn take(&mut self) -> Others {
        self.has_taken = true;
        let mut tenants = self.pushing.tenants();
        tenants.get_mut(self.tenant).and_then(|tenant| tenant.gathering.take()).unwrap_or_default()
    }
}

impl Drop for First<'_> {
    fn drop(&mut self) {
        if !self.has_taken {
            self.take();
        }
        let mut tenants = self.pushing.tenants();
        if let Some(tenant) = tenants.get_mut(self.tenant) {
            tenant.present -= 1;
            if tenant.present == 0 {
                tenants.remove(self.tenant);
            }
        }
    }
}

impl Pushing {
    fn tenants(&self) -> MutexGuard<'_, HashMap<Box<str>, Tenant>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn role_of<'a>(&'a self, name: &'a str, body: &Bytes, most: usize) -> PushRole<'a> {
        if most < 2 || body.len() > BYTES {
            return PushRole::Alone;
        }
        let mut tenants = self.tenants();
        if !tenants.contains_key(name) {
            let turn = Arc::new(Semaphore::new(1));
            tenants.insert(name.into(), Tenant { present: 0, turn, gathering: None });
        }
        let Some(tenant) = tenants.get_mut(name) else { return PushRole::Alone };
        let Some(others) = &mut tenant.gathering else {
            tenant.gathering = Some(Others { bytes: body.len(), pushes: Vec::new() });
            tenant.present += 1;
            let turn = tenant.turn.clone();
            return PushRole::First(First { pushing: self, tenant: name, turn, has_taken: false });
        };
        // The first counts too.
        if others.pushes.len() + 1 >= most || others.bytes + body.len() > BYTES {
            return PushRole::Alone;
        }
        let (sender, receiver) = oneshot::channel();
        others.bytes += body.len();
        others.pushes.push((body.clone(), sender));
        PushRole::Other(receiver)
    }
}

impl RouterClient {
    /// Pushes alerts, together with other pushes of the same tenant where there are any; `body` is the output of
    /// `bailiwick_alertmanager::alert::write_alerts` for at least one alert.
    pub async fn push_alerts(&self, request: TenantRequest<'_>, body: Bytes) -> Result<(), RouterError> {
        let deadline = Instant::now() + self.shared.config.write_timeout;
        match self.pushing.role_of(request.tenant, &body, self.shared.config.pushes_together) {
            PushRole::Alone => self.put_alerts_until(request, body, deadline).await,
            PushRole::Other(receiver) => match receiver.await {
                Ok(Some(result)) => result,
                Ok(None) | Err(_) => self.put_alerts_until(request, body, deadline).await,
            },
            PushRole::First(first) => self.push_first(request, body, first, deadline).await,
        }
    }

    async fn push_first(
        &self,
        request: TenantRequest<'_>,
        body: Bytes,
        mut first: First<'_>,
        deadline: Instant,
    ) -> Result<(), RouterError> {
        yield_now().await;
        let turn = first.turn.clone();
        let _turn = timeout(QUEUE_TIMEOUT, turn.acquire()).await;
        let others = first.take().pushes;
        if others.is_empty() {
            return self.put_alerts_until(request, body, deadline).await;
        }
        let outcome = self.put_together(request, &body, &others, deadline).await;
        for (_, sender) in others {
            // A caller that has left needs no answer.
            let _ = sender.send(outcome.clone());
        }
        match outcome {
            Some(result) => result,
            None => self.put_alerts_until(request, body, deadline).await,
        }
    }

    pub(super) async fn put_alerts_until(
        &self,
        request: TenantRequest<'_>,
        body: Bytes,
        deadline: Instant,
    ) -> Result<(), RouterError> {
        let uri = self.shared.targets.alerts.clone();
        self.write(uri, request, body, Repeat::Always, left(deadline)).await.map(drop)
    }

    /// One request with all of them, under the first one's id.
    async fn put_together(
        &self,
        request: TenantRequest<'_>,
        first: &Bytes,
        others: &[(Bytes, oneshot::Sender<SharedOutcome>)],
        deadline: Instant,
    ) -> SharedOutcome {
        let mut all =
            Vec::with_capacity(first.len() + others.iter().map(|(body, _)| body.len()).sum::<usize>());
        all.push(b'[');
        for body in std::iter::once(first).chain(others.iter().map(|(body, _)| body)) {
            if all.len() > 1 {
                all.push(b',');
            }
            all.extend_from_slice(elements(body));
        }
        all.push(b']');
        let uri = self.shared.targets.alerts.clone();
        let outgoing = self.outgoing(http::Method::POST, uri, request, all.into());
        match self.send(outgoing, Repeat::Always, left(deadline)).await {
            Ok(answered) if finds_fault(&answered) => None,
            Ok(answered) => Some(expect_ok(answered).map(drop)),
            Err(error) => Some(Err(error)),
        }
    }
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// The text between the brackets of an array.
fn elements(array: &[u8]) -> &[u8] {
    array.strip_prefix(b"[").and_then(|rest| rest.strip_suffix(b"]")).unwrap_or(array)
}

/// Whether the refusal concerns the content of the request, not the caller or a rate.
fn finds_fault(answered: &WholeAnswer) -> bool {
    answered.status.is_client_error() && !matches!(answered.status.as_u16(), 401 | 403 | 429)
}
