//! Authentication of systems: Basic with key and secret (spec: systems-interface#authentication), as fast as a hash and
//! never out of date.
//!
//! The rows of a system stay in memory, tagged with the *auth epoch* read before them. Every transaction that can
//! change the rights of a credential moves the epoch, and says which systems it concerns; their entries with an older
//! epoch are read again. `store::epoch` decides when the epoch is known without a query. Where it must be read, all
//! waiting requests share one read. Rows are read in groups too, so a move that concerns all does not cost one query
//! per request.

mod argon2_secrets;
pub(crate) mod basic;
mod cached_credential;
mod guess_limit;
mod import;
mod legacy;
mod secret;

pub use argon2_secrets::{Imported, take_over};
pub use cached_credential::SystemIdentity;
pub use guess_limit::{CredentialKey, Failures};
pub use import::{Imports, forget_legacy, import};
pub use legacy::{authenticate_either, authenticate_legacy};
pub use secret::hash_secret;
pub use secret::{SaltedHash, is_secret};

use crate::Identity;
use bailiwick_domain::{
    Error, Result, SystemId, Ts,
    validate::{SystemKey, SystemSecret},
};
use bailiwick_platform::group_commit::GroupCommit;
use bailiwick_store::{Db, StoreError, credentials, epoch::CachedEpoch};
use basic::Basic;
use cached_credential::CachedCredential;
use moka::sync::Cache;
use std::{collections::HashMap, net::IpAddr, sync::Arc, time::Duration};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Keys known to be unknown.
const UNKNOWN: u64 = 50_000;
/// How long an unknown key is answered from memory: the window of the failure limits.
const UNKNOWN_FOR: Duration = guess_limit::WINDOW;
/// Rows read by one statement at most.
const ROWS: usize = 256;

/// A key to be read, with an epoch that was read before.
type Wanted = (String, i64);
/// The system with a key, and whether the epoch stayed the same while it was read. If not, the row may be that of a
/// commit that a failover loses, while the epoch of the entry stays valid.
type ReadCredential = (Option<Arc<CachedCredential>>, bool);

/// The cached credentials; bounded.
#[derive(Debug)]
pub struct Credentials {
    entries: Cache<String, Arc<CachedCredential>>,
    /// Hash of the key, time of the read.
    unknown: Cache<u64, Ts>,
    /// Failed authentications and registrations.
    pub failures: Failures,
    /// Permits for checking imported hashes.
    imported: argon2_secrets::CheckPermits,
    epochs: GroupCommit<(), i64>,
    rows: GroupCommit<Wanted, ReadCredential>,
}

impl Credentials {
    /// Starts the readers on the tracker. `entries`: the most systems in the cache. `failures_per_minute`: see spec:
    /// systems-interface#failure-limits.
    pub fn start(
        db: &Db,
        tasks: &TaskTracker,
        stop: &CancellationToken,
        (entries, failures_per_minute): (u32, u32),
    ) -> Credentials {
        let (epoch_db, rows_db) = (db.clone(), db.clone());
        Credentials {
            entries: Cache::new(u64::from(entries)),
            unknown: Cache::builder().max_capacity(UNKNOWN).time_to_live(UNKNOWN_FOR).build(),
            failures: Failures::new(failures_per_minute),
            imported: argon2_secrets::CheckPermits::default(),
            epochs: GroupCommit::start(tasks, stop.clone(), 4096, move |group: Vec<()>| {
                read_epoch(epoch_db.clone(), group.len())
            }),
            rows: GroupCommit::start(tasks, stop.clone(), ROWS, move |group| {
                read_rows(rows_db.clone(), group)
            }),
        }
    }

    /// The present epoch: no commit answered before this call has moved it since.
    async fn epoch(&self, service: &Identity) -> Result<i64> {
        match service.platform.db.known_auth_epoch() {
            CachedEpoch::Fresh(epoch) => return Ok(epoch),
            CachedEpoch::Ageing(epoch) => {
                self.epochs.hint(());
                return Ok(epoch);
            }
            CachedEpoch::Unknown => {}
        }
        let read = self.epochs.submit_within(service.platform.db.longest_wait(), ()).await;
        read.map_err(|e| Error::security_unavailable(e.0.to_string()))
    }

    /// The present system with this key; none = no such key.
    async fn entry(
        &self,
        service: &Identity,
        key: &str,
        epoch: i64,
    ) -> Result<Option<Arc<CachedCredential>>> {
        let is_current = |entry: &Arc<CachedCredential>| {
            service.platform.db.is_credential_current(entry.identity.id, entry.epoch)
        };
        if let Some(entry) = self.entries.get(key).filter(is_current) {
            return Ok(Some(entry));
        }
        let (key_hash, now) = (self.failures.hash_of(CredentialKey::Key(key)), service.platform.now());
        if SystemKey::parse(key).is_none() || self.has_missed(key_hash, now) {
            return Ok(None);
        }
        let read = self.rows.submit_within(service.platform.db.longest_wait(), (key.to_owned(), epoch)).await;
        let (credential, lasts) = read.map_err(|e| Error::security_unavailable(e.0.to_string()))?;
        match &credential {
            None => self.unknown.insert(key_hash, now),
            // A registration raises no epoch, so a system is not cached before its registration.
            Some(entry) if lasts && entry.registered_at.is_some() => {
                self.entries.insert(key.to_owned(), entry.clone())
            }
            Some(_) => {}
        }
        Ok(credential)
    }

    /// Keys and lookup parts are random: one that did not exist a moment ago will not exist now.
    fn has_missed(&self, hash: u64, now: Ts) -> bool {
        self.unknown.get(&hash).is_some_and(|at| now < at.plus(UNKNOWN_FOR))
    }

    /// Whether a recent lookup found nothing, so the row need not be read again.
    pub fn is_unknown(&self, sought: CredentialKey<'_>, now: Ts) -> bool {
        self.has_missed(self.failures.hash_of(sought), now)
    }

    /// Remembers that this does not exist.
    pub fn note_unknown(&self, sought: CredentialKey<'_>, now: Ts) {
        self.unknown.insert(self.failures.hash_of(sought), now);
    }
}

async fn read_epoch(db: Db, count: usize) -> Result<Vec<i64>, StoreError> {
    let epoch = db.auth_epoch().await?;
    Ok(vec![epoch; count])
}

/// One statement for all waiting keys. Every requested epoch was read before, so the newest of them is a correct tag.
async fn read_rows(db: Db, group: Vec<Wanted>) -> Result<Vec<ReadCredential>, StoreError> {
    let epoch = group.iter().map(|(_, epoch)| *epoch).max().unwrap_or_default();
    let mut keys: Vec<String> = group.iter().map(|(key, _)| key.clone()).collect();
    keys.sort_unstable();
    keys.dedup();
    let rows = credentials::by_keys(&db, keys).await?;
    let credentials: HashMap<String, Arc<CachedCredential>> = rows
        .into_iter()
        .map(|row| (row.system_key.clone(), Arc::new(CachedCredential::new(row, epoch))))
        .collect();
    let lasts = db.auth_epoch().await? == epoch;
    Ok(group.iter().map(|(key, _)| (credentials.get(key).cloned(), lasts)).collect())
}

/// The system that calls, or the refusal of spec: systems-interface#authentication. `authorization` is the header as
/// text; a header that is not text is passed as `""`.
pub async fn authenticate_system(
    service: &Identity,
    authorization: Option<&str>,
    client_ip: IpAddr,
) -> Result<Arc<SystemIdentity>> {
    by_key(service, &basic::parse(authorization)?, client_ip).await
}

async fn by_key(service: &Identity, basic: &Basic, client_ip: IpAddr) -> Result<Arc<SystemIdentity>> {
    let credentials = service.credentials();
    let pair = credentials.failures.pair(client_ip, CredentialKey::Key(&basic.key));
    credentials.failures.check(pair, service.platform.now())?;
    let epoch = credentials.epoch(service).await?;
    let entry = credentials.entry(service, &basic.key, epoch).await?;
    let secret = basic.password().and_then(SystemSecret::parse).filter(SystemSecret::is_long_enough);
    // The same work whatever the error, so the response time reveals nothing.
    let is_right = is_secret(
        entry.as_ref().map(|e| &e.hash),
        secret.as_ref().map_or("", |s| s.secret.reveal().as_str()),
    );
    let own = entry.zip(secret).filter(|(e, secret)| (secret.public == e.public) & e.is_allowed);
    let matching = match own {
        Some((entry, _)) if is_right => Some(entry),
        // A caller who does not know the lookup part never gets here, so the response time reveals nothing to them.
        Some((entry, secret)) if entry.imported.is_some() => first_use(service, entry, &secret).await?,
        _ => None,
    };
    let Some(entry) = matching else {
        credentials.failures.count(service.as_ref(), pair, service.platform.now()).await?;
        return Err(Error::unauthenticated("invalid system credentials"));
    };
    credentials.failures.confirm(service.as_ref(), pair, service.platform.now()).await?;
    note_first_call(service, &entry).await?;
    Ok(entry.identity.clone())
}

/// Checks a secret whose hash was imported. The check takes time, and another call may have been faster: the hash
/// stored afterwards decides.
async fn first_use(
    service: &Identity,
    entry: Arc<CachedCredential>,
    secret: &SystemSecret,
) -> Result<Option<Arc<CachedCredential>>> {
    let Some(hash) = &entry.imported else { return Ok(None) };
    if !take_over(service, entry.identity.id, hash, secret.secret.reveal()).await? {
        return Ok(None);
    }
    // Reads the row, not the cache: another process may have stored its own form while the cached epoch still counts.
    let wanted = (entry.identity.system_key.clone(), entry.epoch);
    let unavailable = |e: StoreError| Error::security_unavailable(e.to_string());
    let again = read_rows(service.platform.db.clone(), vec![wanted]).await.map_err(unavailable)?;
    Ok(again.into_iter().find_map(|(credential, _)| credential).filter(|e| {
        (secret.public == e.public) & e.is_allowed & is_secret(Some(&e.hash), secret.secret.reveal())
    }))
}

/// Ends the time in which the registration may be repeated (spec: systems-interface#register). Later first calls need
/// no note.
async fn note_first_call(service: &Identity, entry: &CachedCredential) -> Result<()> {
    let Some(registered_at) = entry.registered_at.filter(|_| !entry.has_called()) else { return Ok(()) };
    let now = service.platform.now();
    // Twice the time, because another process's clock may differ.
    if now <= registered_at.plus(service.settings.systems.registration_repeat.saturating_mul(2)) {
        let unavailable = |e: StoreError| Error::security_unavailable(e.to_string());
        let id: SystemId = entry.identity.id;
        let mut tx = service.platform.db.begin_relaxed().await.map_err(unavailable)?;
        credentials::note_first_call(&mut tx, id, registered_at, now).await.map_err(unavailable)?;
        tx.commit().await.map_err(unavailable)?;
    }
    entry.set_called();
    Ok(())
}
