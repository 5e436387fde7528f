//! Caches the issuer's description and keys. They are fetched on demand, by one task for all waiting requests. The task
//! continues when the requests have ended, so a client that disconnects cannot keep the service from learning new keys.

use super::jwt::KeySet;
use crate::Identity;
use bailiwick_domain::Ts;
use bailiwick_outbound::issuer::{Discovery, IssuerClient, IssuerError};
use bailiwick_settings::Issuer;
use futures_util::{
    FutureExt,
    future::{BoxFuture, Shared},
};
use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

/// How long the description counts. It hardly ever changes; while it cannot be fetched, the old one stays in use.
const DESCRIPTION_LIFE: Duration = Duration::from_secs(3600);
/// How much longer the old one counts after a failed fetch.
const DESCRIPTION_PAUSE: Duration = Duration::from_secs(60);
/// A token with an unknown key causes a fetch of the keys at most this often (spec: authentication#identity-modes).
const UNKNOWN_KEY_PAUSE: Duration = Duration::from_secs(10);
/// How long a failure also answers later requests.
const FAILURE_LIFE: Duration = Duration::from_secs(1);

/// Both, as they were known at one moment.
#[derive(Clone, Debug)]
pub(super) struct IssuerDocuments {
    pub(super) description: Arc<Discovery>,
    pub(super) keys: Arc<KeySet>,
}

type Flight = Shared<BoxFuture<'static, Result<IssuerDocuments, IssuerError>>>;

/// What the memory knows of the documents.
enum Cached {
    Known(Result<IssuerDocuments, IssuerError>),
    /// The fetch to wait for.
    Fetching(Flight),
}

#[derive(Default)]
struct State {
    description: Option<(Ts, Arc<Discovery>)>,
    keys: Option<(Ts, Arc<KeySet>)>,
    /// When the keys were last fetched, and the error.
    tried: Option<(Ts, Option<IssuerError>)>,
    flight: Option<Flight>,
}

/// The memory; shared by all requests.
#[derive(Clone, Default)]
pub(super) struct IssuerCache(Arc<Mutex<State>>);

/// The reason for a fetch.
#[derive(Clone, Copy)]
pub(super) enum Freshness<'a> {
    /// The description will do.
    Description,
    /// The keys as well, none older than their lifetime.
    Keys,
    /// Keys other than these, which lack the required one.
    OtherThan(&'a Arc<KeySet>),
}

impl IssuerCache {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The old description, which counts a little longer.
    fn goes_on(&self, now: Ts) -> Option<Arc<Discovery>> {
        let mut state = self.state();
        let (at, old) = state.description.as_mut()?;
        *at = now.minus(DESCRIPTION_LIFE.saturating_sub(DESCRIPTION_PAUSE));
        tracing::warn!(
            issuer = old.issuer,
            "cannot refresh the discovery document of the identity provider; the cached one stays in use"
        );
        Some(old.clone())
    }

    /// The description alone.
    pub(super) async fn description(&self, service: &Identity) -> Result<Arc<Discovery>, IssuerError> {
        let description = match self.ask(service, Freshness::Description) {
            Cached::Known(answer) => answer.map(|documents| documents.description),
            Cached::Fetching(flight) => flight.await.map(|documents| documents.description),
        };
        // Old endpoints are better than none, and unreadable keys must not make the endpoints unknown.
        description.or_else(|e| self.state().description.as_ref().map(|(_, old)| old.clone()).ok_or(e))
    }

    /// Description and keys. For [`Freshness::OtherThan`], the same keys when it is too early to fetch again.
    pub(super) async fn keys(
        &self,
        service: &Identity,
        want: Freshness<'_>,
    ) -> Result<IssuerDocuments, IssuerError> {
        match self.ask(service, want) {
            Cached::Known(answer) => answer,
            Cached::Fetching(flight) => flight.await,
        }
    }

    /// The cached value, or the fetch to wait for.
    fn ask(&self, service: &Identity, want: Freshness<'_>) -> Cached {
        let Some(external) = &service.external else {
            return Cached::Known(Err(IssuerError::Unreachable("there is no issuer".to_owned())));
        };
        let (now, settings) = (service.platform.now(), &external.settings);
        let mut state = self.state();
        let answer = match want {
            Freshness::Description => state.described(now),
            Freshness::Keys => state.fresh(now, settings.keys_life).map(Ok),
            Freshness::OtherThan(keys) => state.other(now, settings.keys_life, keys),
        };
        if let Some(answer) = answer.or_else(|| state.failed(now).map(Err)) {
            return Cached::Known(answer);
        }
        if let Some(flight) = &state.flight {
            return Cached::Fetching(flight.clone());
        }
        state.tried = Some((now, None));
        let old = state.description.as_ref().filter(|(at, _)| is_within(*at, now, DESCRIPTION_LIFE));
        let old = old.map(|(_, description)| description.clone());
        let fetching = fetch(service.clone(), self.clone(), external.client.clone(), settings.clone(), old);
        let flight = fetching.boxed().shared();
        state.flight = Some(flight.clone());
        // Continues by itself, but not beyond the end of the service.
        let (stop, driven) = (service.platform.stop.clone(), flight.clone());
        service.platform.tasks.spawn(async move { stop.run_until_cancelled(driven).await });
        Cached::Fetching(flight)
    }
}

impl State {
    fn documents(&self) -> Option<IssuerDocuments> {
        let (_, description) = self.description.as_ref()?;
        let keys = self.keys.as_ref().map(|(_, keys)| keys.clone()).unwrap_or_default();
        Some(IssuerDocuments { description: description.clone(), keys })
    }

    fn described(&self, now: Ts) -> Option<Result<IssuerDocuments, IssuerError>> {
        let (at, _) = self.description.as_ref()?;
        is_within(*at, now, DESCRIPTION_LIFE).then(|| self.documents().map(Ok))?
    }

    fn fresh(&self, now: Ts, life: Duration) -> Option<IssuerDocuments> {
        let (at, _) = self.keys.as_ref()?;
        is_within(*at, now, life).then(|| self.documents())?
    }

    fn other(
        &self,
        now: Ts,
        life: Duration,
        than: &Arc<KeySet>,
    ) -> Option<Result<IssuerDocuments, IssuerError>> {
        let documents = self.fresh(now, life)?;
        if !Arc::ptr_eq(&documents.keys, than) {
            return Some(Ok(documents));
        }
        match &self.tried {
            // A fetch already in progress is waited for.
            Some((at, outcome)) if self.flight.is_none() && is_within(*at, now, UNKNOWN_KEY_PAUSE) => {
                Some(outcome.clone().map_or(Ok(documents), Err))
            }
            _ => None,
        }
    }

    /// The last failure while it is recent, so that not every request calls an issuer in trouble.
    fn failed(&self, now: Ts) -> Option<IssuerError> {
        let (at, outcome) = self.tried.as_ref()?;
        outcome.clone().filter(|_| is_within(*at, now, FAILURE_LIFE))
    }
}

/// A clock that was set back extends no lifetime.
fn is_within(at: Ts, now: Ts, life: Duration) -> bool {
    now >= at && now.since(at) < life
}

/// Fetches the missing parts and stores the outcome.
async fn fetch(
    service: Identity,
    memory: IssuerCache,
    client: IssuerClient,
    settings: Issuer,
    old: Option<Arc<Discovery>>,
) -> Result<IssuerDocuments, IssuerError> {
    let fetched: Result<IssuerDocuments, IssuerError> = async {
        let description = match old {
            Some(description) => description,
            None => match client.discover(&settings.url, settings.keys_timeout).await {
                Ok(description) => {
                    let description = Arc::new(description);
                    memory.state().description = Some((service.platform.now(), description.clone()));
                    description
                }
                Err(error) => memory.goes_on(service.platform.now()).ok_or(error)?,
            },
        };
        let text = client.keys(&description, settings.keys_timeout).await?;
        let unreadable = || IssuerError::Unreachable("keys: an answer that cannot be read".to_owned());
        let keys = Arc::new(KeySet::read(&text).ok_or_else(unreadable)?);
        tracing::debug!(issuer = settings.url, keys = keys.len(), "keys of the identity provider fetched");
        Ok(IssuerDocuments { description, keys })
    }
    .await;
    let mut state = memory.state();
    state.flight = None;
    let now = service.platform.now();
    match &fetched {
        Ok(documents) => state.keys = Some((now, documents.keys.clone())),
        Err(error) => state.tried = Some((now, Some(error.clone()))),
    }
    fetched
}
