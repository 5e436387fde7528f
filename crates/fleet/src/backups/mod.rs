//! Backups of systems (spec: backups#operations): systems store them, and systems and management list, read and delete
//! them.
//!
//! The rows in the database are the list; the bytes are objects in a storage beside it. An object without a row is
//! garbage, and a job deletes it. The job is created before the upload begins and removed by the transaction that lists
//! the backup; a transaction that removes a row creates the job again. So a crash leaves neither a backup without bytes
//! nor bytes that are never removed.

mod upload;

pub use upload::{Cut, Incoming, store};

use crate::{Fleet, systems};
use bailiwick_directory::objects::fault;
use bailiwick_domain::{AuditAction, Error, ObjectKind, Result, SystemId, Ts, metrics::Counter};
use bailiwick_identity::credentials::SystemIdentity;
use bailiwick_outbound::object_storage::Content;
use bailiwick_platform::{
    RequestContext, audit,
    limits::{Allowed, SlidingWindow},
};
use bailiwick_policy::{Action, Caller, Resource, decide, gate};
use bailiwick_store::{Tx, backups, systems as stored};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use serde_json::json;
use std::{sync::Arc, time::Duration};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

pub use backups::Backup;

/// Suffixes of ids, by the names of the files.
const SUFFIXES: [&str; 6] = [".tar.gz", ".tar.xz", ".tar.bz2", ".tar.zst", ".gpg", ".bin"];

const HOUR: Duration = Duration::from_secs(3600);
/// Uploads of a system in a minute and in an hour.
const UPLOADS: [Allowed; 2] = [(6, Duration::from_secs(60)), (60, HOUR)];

/// Limits of uploads.
#[derive(Debug)]
pub struct Backups {
    uploads: Arc<Semaphore>,
    recent: SlidingWindow<SystemId>,
    refused: Counter,
}

impl Backups {
    pub(crate) fn new(uploads: usize) -> Backups {
        Backups {
            uploads: Arc::new(Semaphore::new(uploads)),
            recent: SlidingWindow::new(HOUR),
            refused: Counter::default(),
        }
    }

    /// Counts an upload.
    ///
    /// # Errors
    /// 429 with the time until the next one is allowed; it is not counted then.
    fn count(&self, system: SystemId, now: Ts) -> Result<()> {
        self.recent.take(system, &UPLOADS, now).map_err(|retry_after| {
            self.refused.one();
            Error::TooMany { retry_after }
        })
    }

    /// Number of uploads that exceeded the rate limit.
    pub fn refused(&self) -> u64 {
        self.refused.get()
    }

    /// Takes all places, as the same number of slow uploads would.
    #[doc(hidden)]
    pub fn occupy(&self) -> Vec<OwnedSemaphorePermit> {
        std::iter::from_fn(|| self.uploads.clone().try_acquire_owned().ok()).collect()
    }
}

/// A backup's id as a client names it.
///
/// # Errors
/// 400 `invalid backup id`.
fn checked(id: &str) -> Result<&str> {
    let (uuid, suffix) = id.split_at_checked(36).unwrap_or_default();
    let is_lower = !uuid.bytes().any(|b| b.is_ascii_uppercase());
    let parsed = uuid.parse::<uuid::fmt::Hyphenated>().ok().map(uuid::fmt::Hyphenated::into_uuid);
    let is_v7 =
        parsed.is_some_and(|id| id.get_version_num() == 7 && id.get_variant() == uuid::Variant::RFC4122);
    let is_suffix = suffix.is_empty() || SUFFIXES.contains(&suffix);
    if is_lower && is_v7 && is_suffix { Ok(id) } else { Err(Error::bad_request("invalid backup id")) }
}

/// `GET /systems/backups`: the system's own, the newest first.
pub async fn own(service: &Fleet, system: &SystemIdentity) -> Result<Vec<Backup>> {
    Ok(backups::list(&service.platform.db, system.id).await?)
}

/// `GET /systems/backups/{backup_id}`: a backup of the system with its bytes.
pub async fn read_own(service: &Fleet, system: &SystemIdentity, id: &str) -> Result<(Backup, Content)> {
    let found = backups::get(&service.platform.db, system.id, checked(id)?).await?;
    read(service, found.ok_or(Error::NotFound(ObjectKind::Backup))?).await
}

async fn read(service: &Fleet, backup: Backup) -> Result<(Backup, Content)> {
    let assets = service.directory.objects.store()?;
    let bytes = assets.read(&backup.object_key).await.map_err(|e| {
        tracing::error!(backup = backup.id, error = %e, "a backup cannot be read");
        fault(e)
    })?;
    Ok((backup, bytes))
}

/// `DELETE /systems/backups/{backup_id}`.
pub async fn delete_own(service: &Fleet, system: &SystemIdentity, id: &str) -> Result<()> {
    let id = checked(id)?;
    let mut tx = service.platform.db.begin().await?;
    take(service, &mut tx, system.id, id).await?;
    tx.commit().await?;
    service.directory.objects.wake();
    Ok(())
}

/// Removes a backup from the list and enqueues the deletion of its object.
async fn take(service: &Fleet, tx: &mut Tx, system: SystemId, id: &str) -> Result<Backup> {
    let found = backups::get(&mut *tx, system, id).await?.ok_or(Error::NotFound(ObjectKind::Backup))?;
    if !backups::remove(tx, id).await? {
        return Err(Error::NotFound(ObjectKind::Backup));
    }
    let key = std::slice::from_ref(&found.object_key);
    backups::bury(tx, key, service.platform.now(), || service.platform.fresh()).await?;
    Ok(found)
}

/// `GET /systems/{id}/backups`.
pub async fn list(service: &Fleet, caller: &Caller, id: Option<SystemId>) -> Result<Vec<Backup>> {
    let system = systems::load(service, caller, id).await?.system;
    Ok(backups::list(&service.platform.db, system.id).await?)
}

/// `DELETE /systems/{id}/backups/{backup_id}`.
pub async fn delete(
    service: &Fleet,
    caller: &Caller,
    ctx: &RequestContext,
    (system, id): (Option<SystemId>, &str),
) -> Result<SystemId> {
    gate(caller, Action::Update, Resource::Systems)?;
    let system = system.ok_or(Error::NotFound(ObjectKind::System))?;
    let mut tx = service.platform.db.begin().await?;
    let found = stored::lock(&mut tx, system).await?.ok_or(Error::NotFound(ObjectKind::System))?;
    decide(caller, Action::Update, &found.target()).granted()?;
    let taken = take(service, &mut tx, system, checked(id)?).await?;
    let event = audit::Event {
        action: AuditAction::SystemDeleteBackup,
        object_type: "system",
        object_id: system.0,
        before: Some(json!({"backup_id": taken.id, "filename": taken.filename, "sha256": taken.sha256})),
        after: None,
    };
    audit::record(&mut tx, service.platform.now(), caller, ctx, event).await?;
    tx.commit().await?;
    service.directory.objects.wake();
    Ok(system)
}

/// The address from which a backup can be fetched without a credential, for some seconds.
#[derive(Clone)]
pub struct Link {
    /// The address. It lets any holder read the backup, so it is never logged.
    pub url: String,
    /// Its life in seconds.
    pub seconds: u64,
}

/// `GET /systems/{id}/backups/{backup_id}/download`.
pub async fn link(service: &Fleet, caller: &Caller, system: Option<SystemId>, id: &str) -> Result<Link> {
    let system = systems::load(service, caller, system).await?.system;
    let found = backups::get(&service.platform.db, system.id, checked(id)?)
        .await?
        .ok_or(Error::NotFound(ObjectKind::Backup))?;
    let settings = &service.settings;
    let life = settings.assets.download_lifetime;
    let assets = service.directory.objects.store()?;
    let url = match assets.signed_url(&found.object_key, life).await.map_err(fault)? {
        Some(url) => url,
        None => {
            let token = token(service, &found.object_key, service.platform.now().plus(life));
            format!("{}{}/downloads/{token}", settings.app_url(), settings.api_base_url)
        }
    };
    Ok(Link { url, seconds: life.as_secs() })
}

/// `<expiry>.<object key>` and its signature, in the alphabet of URLs.
fn token(service: &Fleet, key: &str, expires: Ts) -> String {
    let payload = format!("{}.{key}", expires.0);
    let signature = BASE64_URL_SAFE_NO_PAD.encode(service.platform.keys.sign_download(payload.as_bytes()));
    format!("{}.{signature}", BASE64_URL_SAFE_NO_PAD.encode(payload))
}

/// The object a token names, if the service has signed it and it has not expired.
fn named_by(service: &Fleet, token: &str) -> Option<String> {
    let (payload, signature) = token.split_once('.')?;
    let payload = BASE64_URL_SAFE_NO_PAD.decode(payload).ok()?;
    let signature = BASE64_URL_SAFE_NO_PAD.decode(signature).ok()?;
    if !service.platform.keys.is_download(&payload, &signature) {
        return None;
    }
    let payload = String::from_utf8(payload).ok()?;
    let (expires, key) = payload.split_once('.')?;
    let expires = Ts(expires.parse().ok()?);
    (service.platform.now() < expires).then(|| key.to_owned())
}

/// `GET /downloads/{token}`: any problem with the token is reported as a missing backup.
pub async fn read_by_token(service: &Fleet, token: &str) -> Result<(Backup, Content)> {
    let key = named_by(service, token).ok_or(Error::NotFound(ObjectKind::Backup))?;
    // The key names the organization too: a backup that has moved or gone meanwhile is not found.
    let found =
        backups::by_object(&service.platform.db, &key).await?.ok_or(Error::NotFound(ObjectKind::Backup))?;
    read(service, found).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_those_of_the_contract() {
        let id = "019c9fa6-4540-7a3b-8c5d-1f2e3a4b5c6d";
        for suffix in SUFFIXES.into_iter().chain([""]) {
            assert!(checked(&format!("{id}{suffix}")).is_ok(), "{suffix}");
        }
        for bad in [
            "",
            "x",
            &id[..35],
            &id.to_uppercase(),
            "019c9fa6-4540-4a3b-8c5d-1f2e3a4b5c6d",
            "019c9fa6-4540-7a3b-cc5d-1f2e3a4b5c6d",
            "019c9fa6-4540-7a3b-8c5d-1f2e3a4b5c6d.zip",
            "019c9fa6-4540-7a3b-8c5d-1f2e3a4b5c6d.bin/..",
            "019c9fa645407a3b8c5d1f2e3a4b5c6d",
            "\u{e9}19c9fa6-4540-7a3b-8c5d-1f2e3a4b5c6d",
        ] {
            assert!(checked(bad).is_err(), "{bad}");
        }
    }
}
