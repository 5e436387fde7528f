//! Older pairs of id and secret (spec: systems-interface#older-paths). Each pair authenticates the system it was
//! imported for, under all rules of the pair of key and secret. Such calls are few and rare, so the process caches
//! unknown ids only.

use super::{
    Basic, CredentialKey, basic, by_key,
    cached_credential::{CachedCredential, SystemIdentity},
    is_secret, note_first_call,
    secret::SaltedHash,
};
use crate::Identity;
use bailiwick_domain::{Error, Result, validate::SystemSecret};
use bailiwick_store::legacy;
use std::{net::IpAddr, sync::Arc};

/// Longest older id.
const MAX_CHARS: usize = 255;

/// Whether this can be an older id: any text that can precede the colon of a Basic credential.
pub(super) fn is_legacy_id(text: &str) -> bool {
    (1..=MAX_CHARS).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic() && b != b':')
}

/// Authenticates a system by key and secret or by an older pair; no older secret looks like one of ours.
pub async fn authenticate_either(
    service: &Identity,
    authorization: Option<&str>,
    client_ip: IpAddr,
) -> Result<Arc<SystemIdentity>> {
    let basic = basic::parse(authorization)?;
    if basic.password().and_then(SystemSecret::parse).is_some() {
        return by_key(service, &basic, client_ip).await;
    }
    by_pair(service, &basic, client_ip, true).await
}

/// Authenticates a system by an older pair, registered or not.
pub async fn authenticate_legacy(
    service: &Identity,
    authorization: Option<&str>,
    client_ip: IpAddr,
) -> Result<Arc<SystemIdentity>> {
    by_pair(service, &basic::parse(authorization)?, client_ip, false).await
}

async fn by_pair(
    service: &Identity,
    basic: &Basic,
    client_ip: IpAddr,
    must_be_registered: bool,
) -> Result<Arc<SystemIdentity>> {
    let (memory, now, sought) =
        (service.credentials(), service.platform.now(), CredentialKey::Legacy(&basic.key));
    let pair = memory.failures.pair(client_ip, sought);
    memory.failures.check(pair, now)?;
    let record = if is_legacy_id(&basic.key) && !memory.is_unknown(sought, now) {
        let longest = service.platform.db.longest_wait();
        let read = tokio::time::timeout(longest, legacy::by_id(&service.platform.db, &basic.key)).await;
        let read = read
            .map_err(|_| Error::security_unavailable(format!("no row within {} s", longest.as_secs_f64())))?;
        let read = read.map_err(|e| Error::security_unavailable(e.to_string()))?;
        // Only for an id that was looked up: repeated requests must not extend the time it counts as unknown.
        if read.is_none() {
            memory.note_unknown(sought, now);
        }
        read
    } else {
        None
    };
    // The same work whatever the error, so the response time reveals nothing.
    let hash = record.as_ref().and_then(|(_, hash)| SaltedHash::parse(hash));
    let is_right = is_secret(hash.as_ref(), basic.password().unwrap_or_default());
    let matching = record.filter(|(system, _)| {
        let may_call = system.registered_at.is_some() || !must_be_registered;
        is_right & may_call & !system.is_suspended & !system.is_deleted
    });
    let Some((system, _)) = matching else {
        memory.failures.count(service.as_ref(), pair, now).await?;
        return Err(Error::unauthenticated("invalid system credentials"));
    };
    memory.failures.confirm(service.as_ref(), pair, now).await?;
    // Its epoch does not matter: the entry is not cached.
    let entry = CachedCredential::new(system, 0);
    note_first_call(service, &entry).await?;
    Ok(entry.identity.clone())
}
