//! `POST /systems/register` (spec: systems-interface#register). The order of the checks ensures that a caller without
//! the right secret learns nothing.

use crate::Fleet;
use bailiwick_domain::{Error, Happening, Result, Ts, validate::SystemSecret};
use bailiwick_events::EventDraft;
use bailiwick_identity::credentials::{CredentialKey, Imported, SaltedHash, is_secret, take_over};
use bailiwick_platform::RequestContext;
use bailiwick_store::credentials::{self, CredentialRecord};

/// The answer to the appliance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// Public half of its credential.
    pub system_key: String,
    /// When; the first time, if this is a repeat.
    pub registered_at: Ts,
}

/// Registers the system with the presented secret; `secret`: none = missing from the body.
pub async fn register(service: &Fleet, ctx: &RequestContext, secret: Option<&str>) -> Result<Registered> {
    let received_at = service.platform.now();
    let text = secret.filter(|s| !s.is_empty()).ok_or_else(|| Error::field("system_secret", "required"))?;
    let secret =
        SystemSecret::parse(text).ok_or_else(|| Error::bad_request("invalid system secret format"))?;
    let failures = &service.identity.credentials().failures;
    let pair = failures.pair(ctx.client_ip, CredentialKey::Public(&secret.public));
    failures.check(pair, received_at)?;
    let Some(credential) = find(service, &secret, received_at).await? else {
        failures.count(service.as_ref(), pair, received_at).await?;
        return Err(Error::unauthenticated("invalid system secret"));
    };
    failures.confirm(service.as_ref(), pair, received_at).await?;
    if let Some(done) = settled(service, ctx, &credential, received_at)? {
        return Ok(done);
    }
    let from = ctx.client_ip.to_string();
    let mut tx = service.platform.db.begin().await?;
    if credentials::register(&mut tx, &credential, received_at, &from).await? {
        let draft = EventDraft::system_by_id(Happening::Registered, credential.id, &credential.system_key);
        draft.write(&mut tx, received_at).await?;
        tx.commit().await?;
        return Ok(Registered { system_key: credential.system_key, registered_at: received_at });
    }
    // Another request has changed the system meanwhile; its present state decides the answer.
    match credentials::by_public(&mut tx, &secret.public).await?.filter(|now| is_right(Some(now), &secret)) {
        Some(now) => settled(service, ctx, &now, received_at)?
            .ok_or_else(|| Error::internal("a registration failed without a reason")),
        None => Err(Error::unauthenticated("invalid system secret")),
    }
}

/// The system with this secret. An unknown lookup part costs one query a minute, and as much work as a known one.
async fn find(service: &Fleet, secret: &SystemSecret, now: Ts) -> Result<Option<CredentialRecord>> {
    let memory = service.identity.credentials();
    let part = CredentialKey::Public(&secret.public);
    let credential = if memory.is_unknown(part, now) {
        None
    } else {
        let read = credentials::by_public(&service.platform.db, &secret.public).await?;
        // Only after a query: repeated requests do not prolong the time.
        if read.is_none() {
            memory.note_unknown(part, now);
        }
        read
    };
    if is_right(credential.as_ref(), secret) {
        return Ok(credential);
    }
    let Some(credential) = credential else { return Ok(None) };
    // The first use of a secret with an imported hash.
    let Some(imported) = Imported::parse(&credential.secret_hash) else { return Ok(None) };
    if !take_over(&service.identity, credential.id, &imported, secret.secret.reveal()).await? {
        return Ok(None);
    }
    let again = credentials::by_public(&service.platform.db, &secret.public).await?;
    let right = is_right(again.as_ref(), secret);
    Ok(again.filter(|_| right))
}

fn is_right(credential: Option<&CredentialRecord>, secret: &SystemSecret) -> bool {
    let hash = credential.and_then(|f| SaltedHash::parse(&f.secret_hash));
    is_secret(hash.as_ref(), secret.secret.reveal())
}

/// Steps 4 to 6: the reason why the system cannot be registered now, or the answer to a repeated request; none = it
/// can.
fn settled(
    service: &Fleet,
    ctx: &RequestContext,
    credential: &CredentialRecord,
    received_at: Ts,
) -> Result<Option<Registered>> {
    if credential.is_deleted {
        return Err(Error::forbidden("system has been deleted"));
    }
    if let Some(registered_at) = credential.registered_at {
        // A client may repeat a request with a lost answer; a request from before the registration was a concurrent
        // one.
        let in_time = received_at > registered_at
            && received_at <= registered_at.plus(service.settings.systems.registration_repeat);
        let same_place = credential.registered_from.as_deref() == Some(ctx.client_ip.to_string().as_str());
        if in_time && same_place && credential.authenticated_at.is_none() {
            return Ok(Some(Registered { system_key: credential.system_key.clone(), registered_at }));
        }
        return Err(Error::conflict("system is already registered"));
    }
    if credential.is_suspended {
        return Err(Error::forbidden("system is suspended"));
    }
    Ok(None)
}
