//! Authenticates requests that carry a personal API key.
//!
//! The key and its user are read live for each request, like user sessions. So revocation, expiry, suspension and
//! deletion take effect on the very next request, on every replica.

use crate::{
    Identity,
    auth::{BearerRequest, identity_of, unreadable},
    credentials::{SaltedHash, is_secret},
};
use bailiwick_domain::{ApiKeyId, Clock, Error, Result, Ts, validate::ApiKeyToken};
use bailiwick_platform::limits::KeyedLimit;
use bailiwick_policy::Caller;
use bailiwick_settings::Limits;
use bailiwick_store::api_keys::{
    self, Presented,
    events::{self, Event, NewEvent, Reason},
};
use moka::sync::Cache;
use std::{sync::Arc, time::Duration};

/// How often the last use of a key is written.
const USE_INTERVAL: Duration = Duration::from_secs(60);
/// How many recent writes are remembered, by key and kind; beyond this, the bound of the table still applies.
const MEMORY: u64 = 20_000;
/// Longest path that is recorded, in characters.
const MAX_PATH: usize = 255;

/// The API key state of a process.
pub struct ApiKeys {
    requests: KeyedLimit<ApiKeyId>,
    /// Requests that end silences: a tool ends all silences of a system at once, with one request for each.
    silence_ends: KeyedLimit<ApiKeyId>,
    /// When this process last wrote a row about a key.
    written: Cache<(ApiKeyId, Note), Ts>,
}

/// What a request with a key is for, as its rate is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyWork {
    /// Anything but the other.
    Any,
    /// Ends one silence.
    EndsSilence,
}

/// The burst of requests that end silences: as many as a system may have, and no fewer than of others.
pub fn silence_ends(burst: u32, silences_per_system: u64) -> u32 {
    u32::try_from(silences_per_system).unwrap_or(u32::MAX).max(burst)
}

/// The kinds of rows written about a key while it is used; each at most once a minute.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Note {
    Use,
    Refusal(Event),
}

impl ApiKeys {
    /// Without any recorded use.
    pub fn new(clock: Arc<dyn Clock>, limits: &Limits, silences_per_system: u64) -> ApiKeys {
        let (rate, burst) = (limits.api_key_requests_per_second, limits.api_key_request_burst);
        ApiKeys {
            requests: KeyedLimit::new(clock.clone(), rate, burst),
            silence_ends: KeyedLimit::new(clock, rate, silence_ends(burst, silences_per_system)),
            written: Cache::builder().max_capacity(MEMORY).build(),
        }
    }

    /// How many requests were refused for their rate.
    pub fn refused(&self) -> u64 {
        self.requests.refused() + self.silence_ends.refused()
    }

    /// Whether it is time to write this: at most once a minute, however many requests arrive.
    fn is_due(&self, key: ApiKeyId, note: Note, now: Ts) -> bool {
        let last = self.written.get(&(key, note));
        let is_due = match note {
            Note::Use => last.is_none_or(|at| now.since(at) >= USE_INTERVAL),
            // The table keeps one row for each minute of the clock.
            Note::Refusal(_) => last.is_none_or(|at| events::minute(at) != events::minute(now)),
        };
        if is_due {
            self.written.insert((key, note), now);
        }
        is_due
    }
}

/// Authenticates a request that carries an API key.
///
/// # Errors
/// 401 `invalid api key` for every invalid key; 429 beyond the key's rate; 503 when its state cannot be read.
pub(crate) async fn authenticate(
    service: &Identity,
    token: &str,
    request: &BearerRequest<'_>,
    work: KeyWork,
) -> Result<Caller> {
    let refused = || Error::unauthenticated("invalid api key");
    let token = ApiKeyToken::parse(token).ok_or_else(refused)?;
    let stored = api_keys::by_public(&service.platform.db, &token.public).await.map_err(unreadable)?;
    // The same work whether or not there is such a key, so the response time reveals nothing.
    let hash = stored.as_ref().and_then(|key| SaltedHash::parse(&key.secret_hash));
    let is_right = is_secret(hash.as_ref(), token.secret.reveal());
    let key = stored.ok_or_else(refused)?;
    let now = service.platform.now();
    if let Some(reason) = refusal(&key, is_right, now) {
        note_refusal(service, &key, request, Event::AuthFailed(reason), now).await;
        return Err(refused());
    }
    // Only a genuine key takes from its own bucket, so knowing the public part of a key does not lock its owner out.
    let limit = match work {
        KeyWork::Any => &service.api_keys.requests,
        KeyWork::EndsSilence => &service.api_keys.silence_ends,
    };
    if let Err(too_many) = limit.check(&key.id) {
        note_refusal(service, &key, request, Event::RateLimited, now).await;
        return Err(too_many);
    }
    note_use(service, &key, request, now).await;
    let identity = Arc::new(identity_of(&service.platform.catalogue, key.user));
    Ok(Caller::ApiKey { identity, mode: key.mode })
}

fn refusal(key: &Presented, is_right: bool, now: Ts) -> Option<Reason> {
    if !is_right {
        Some(Reason::InvalidSecret)
    } else if key.is_revoked {
        Some(Reason::Revoked)
    } else if now >= key.expires_at {
        Some(Reason::Expired)
    } else if !key.user.standing.is_enabled() {
        Some(Reason::UserInactive)
    } else {
        None
    }
}

/// The request is refused whether or not the refusal can be recorded.
async fn note_refusal(
    service: &Identity,
    key: &Presented,
    request: &BearerRequest<'_>,
    event: Event,
    now: Ts,
) {
    if !service.api_keys.is_due(key.id, Note::Refusal(event), now) {
        return;
    }
    let ip = request.client_ip.to_string();
    let path: String = request.path.chars().take(MAX_PATH).collect();
    let new = NewEvent {
        id: service.platform.fresh(),
        api_key_id: key.id,
        user_id: key.user.id,
        organization_id: key.user.organization.id,
        event,
        key_name: &key.name,
        key_mode: key.mode,
        ip: &ip,
        method: request.method,
        path: &path,
        at: now,
    };
    let written: Result<()> = async {
        let mut tx = service.platform.db.begin_relaxed().await?;
        events::record(&mut tx, &new).await?;
        Ok(tx.commit().await?)
    }
    .await;
    if let Err(e) = written {
        tracing::warn!(key = %key.id, error = %e, "a refused API key could not be recorded");
    }
}

async fn note_use(service: &Identity, key: &Presented, request: &BearerRequest<'_>, now: Ts) {
    let is_noted = key.last_used_at.is_some_and(|at| now.since(at) < USE_INTERVAL);
    if is_noted || !service.api_keys.is_due(key.id, Note::Use, now) {
        return;
    }
    let ip = request.client_ip.to_string();
    let written: Result<()> = async {
        let mut tx = service.platform.db.begin_relaxed().await?;
        api_keys::note_use(&mut tx, key.id, now, &ip, USE_INTERVAL).await?;
        Ok(tx.commit().await?)
    }
    .await;
    if let Err(e) = written {
        tracing::warn!(key = %key.id, error = %e, "the use of an API key could not be noted");
    }
}
