//! `POST /systems/backups` (spec: backups#operations).

use super::{Backup, SUFFIXES, fault};
use crate::{Fleet, backup_objects::object_key};
use aws_lc_rs::digest;
use bailiwick_domain::{Error, OrgId, Result, SystemId, ports::hex};
use bailiwick_identity::credentials::SystemIdentity;
use bailiwick_outbound::object_storage::{AssetStore, Upload};
use bailiwick_platform::RequestContext;
use bailiwick_store::{Tx, backups, systems};
use bytes::Bytes;
use futures_util::{Stream, StreamExt};
use serde_json::json;
use std::{pin::pin, time::Duration};

/// Longest time of an upload.
const LONGEST: Duration = Duration::from_secs(900);
/// An upload that has not ended after this time is abandoned.
const ABANDONED: Duration = Duration::from_secs(2 * 3600);
/// Longest file name, in bytes; all its characters are ASCII.
const NAME_BYTES: usize = 255;

/// The head of the request.
#[derive(Clone, Debug)]
pub struct Incoming {
    /// `Content-Length`.
    pub length: u64,
    /// `X-Filename` as sent.
    pub filename: Option<String>,
    /// `Content-Type` as sent.
    pub mimetype: Option<String>,
}

/// How a body ended before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// No byte for too long.
    Stalled,
    /// The connection broke.
    Broken,
}

/// Stores a backup of the calling system; it is listed once all of its bytes are stored.
///
/// # Errors
/// 413 for a body that is too large or beyond the organization's quota, 429, 400 for a body of another length, 502 and
/// 504 of the storage, 503 when too many upload at once.
pub async fn store(
    service: &Fleet,
    ctx: &RequestContext,
    system: &SystemIdentity,
    incoming: Incoming,
    body: impl Stream<Item = Result<Bytes, Cut>> + Send + 'static,
) -> Result<Backup> {
    let most = service.settings.assets.upload_bytes;
    if incoming.length > most {
        let data = json!({ "max_bytes": most });
        return Err(Error::TooLarge { message: "backup too large".into(), data });
    }
    service.backups.count(system.id, service.platform.now())?;
    let permit = service.backups.uploads.clone().try_acquire_owned().map_err(|_| Error::Unavailable {
        message: "service temporarily unavailable".into(),
        log: "too many backups are being uploaded".into(),
    })?;
    let assets = service.directory.objects.store()?.clone();
    let draft = Draft::new(service, ctx, system, incoming);
    // A task of its own: a client that disconnects must not stop the cleanup.
    let service = service.clone();
    let task = service.platform.tasks.clone().spawn(async move {
        let _permit = permit;
        let begun = draft.begin(&service).await;
        let outcome = match begun {
            Err(e) => return Err(e),
            Ok(()) => draft.complete(&service, &assets, body).await,
        };
        if outcome.is_err() {
            draft.give_up(&service).await;
        }
        outcome
    });
    task.await.map_err(Error::internal)?
}

/// A backup that is not listed yet.
struct Draft {
    id: String,
    system: SystemId,
    organization: OrgId,
    object_key: String,
    filename: String,
    mimetype: String,
    length: u64,
    from: String,
}

impl Draft {
    fn new(service: &Fleet, ctx: &RequestContext, system: &SystemIdentity, incoming: Incoming) -> Draft {
        let uuid: uuid::Uuid = service.platform.fresh();
        let cleaned = incoming.filename.as_deref().and_then(cleaned);
        let filename = cleaned.unwrap_or_else(|| format!("backup-{uuid}"));
        let id = format!("{uuid}{}", suffix(&filename));
        let organization = system.organization.id;
        Draft {
            system: system.id,
            organization,
            object_key: object_key(organization, &system.system_key, &id),
            id,
            filename: filename.chars().take(NAME_BYTES).collect(),
            mimetype: incoming
                .mimetype
                .filter(|kind| (1..=NAME_BYTES).contains(&kind.len()))
                .unwrap_or_else(|| "application/octet-stream".to_owned()),
            length: incoming.length,
            from: ctx.client_ip.to_string(),
        }
    }

    /// Checks that there is room, and enqueues the job that deletes the object if the upload fails.
    async fn begin(&self, service: &Fleet) -> Result<()> {
        let now = service.platform.now();
        let mut tx = service.platform.db.begin().await?;
        self.check_quota(service, &mut tx).await?;
        backups::bury_later(&mut tx, service.platform.fresh(), &self.object_key, now.plus(ABANDONED), now)
            .await?;
        Ok(tx.commit().await?)
    }

    async fn check_quota(&self, service: &Fleet, tx: &mut Tx) -> Result<()> {
        let quota = service.settings.assets.organization_bytes;
        let used = u64::try_from(backups::used(tx, self.organization).await?).unwrap_or(0);
        if used.saturating_add(self.length) > quota {
            let data = json!({ "max_bytes": quota });
            return Err(Error::TooLarge {
                message: "backup quota of the organization exceeded".into(),
                data,
            });
        }
        Ok(())
    }

    async fn complete(
        &self,
        service: &Fleet,
        assets: &AssetStore,
        body: impl Stream<Item = Result<Bytes, Cut>> + Send,
    ) -> Result<Backup> {
        let mut upload = assets.begin(&self.object_key).await.map_err(fault)?;
        let copied = tokio::time::timeout(LONGEST, copy(&mut upload, self.length, body)).await;
        let sha256 = match copied.unwrap_or_else(|_| Err(Error::SlowBody)) {
            Ok(sha256) => sha256,
            Err(e) => {
                upload.abandon().await;
                return Err(e);
            }
        };
        upload.finish().await.map_err(fault)?;
        self.list(service, sha256).await
    }

    /// Adds the backup to the list and removes those beyond the system's share.
    async fn list(&self, service: &Fleet, sha256: String) -> Result<Backup> {
        let now = service.platform.now();
        let mut tx = service.platform.db.begin().await?;
        let gone = || Error::unauthenticated("invalid system credentials");
        let held = systems::lock(&mut tx, self.system).await?.ok_or_else(gone)?;
        if held.system.organization.id != self.organization {
            let log = "the system moved to another organization during its upload".into();
            return Err(Error::Unavailable { message: "service temporarily unavailable".into(), log });
        }
        if !backups::hold_organization(&mut tx, self.organization).await? {
            return Err(gone());
        }
        self.check_quota(service, &mut tx).await?;
        let backup = Backup {
            id: self.id.clone(),
            system_id: self.system,
            organization_id: self.organization,
            object_key: self.object_key.clone(),
            filename: self.filename.clone(),
            size: i64::try_from(self.length).map_err(Error::internal)?,
            sha256,
            mimetype: self.mimetype.clone(),
            uploaded_at: now,
            uploaded_from: self.from.clone(),
        };
        backups::insert(&mut tx, &backup).await?;
        if !backups::cancel_removal(&mut tx, &self.object_key).await? {
            let log = "a backup took so long to be stored that its object was given up".into();
            return Err(Error::Unavailable { message: "service temporarily unavailable".into(), log });
        }
        let pruned = self.prune(service, &mut tx).await?;
        tx.commit().await?;
        if pruned {
            service.directory.objects.wake();
        }
        Ok(backup)
    }

    async fn prune(&self, service: &Fleet, tx: &mut Tx) -> Result<bool> {
        let assets = &service.settings.assets;
        let all = backups::list(&mut *tx, self.system).await?;
        // The new backup stays, even if a clock that was set back makes it look old.
        let (own, others): (Vec<Backup>, Vec<Backup>) = all.into_iter().partition(|b| b.id == self.id);
        let (mut count, mut bytes) = (own.len(), self.length);
        let mut pruned = Vec::new();
        for backup in others {
            count += 1;
            bytes = bytes.saturating_add(u64::try_from(backup.size).unwrap_or(0));
            if count > assets.system_backups || bytes > assets.system_bytes {
                backups::remove(tx, &backup.id).await?;
                pruned.push(backup.object_key);
            }
        }
        backups::bury(tx, &pruned, service.platform.now(), || service.platform.fresh()).await?;
        Ok(!pruned.is_empty())
    }

    /// Deletes the object. If this fails as well, the job from the beginning deletes it.
    async fn give_up(&self, service: &Fleet) {
        let now = service.platform.now();
        let sooner = async {
            let mut tx = service.platform.db.begin().await?;
            backups::bury_later(&mut tx, service.platform.fresh(), &self.object_key, now, now).await?;
            tx.commit().await
        };
        match sooner.await {
            Ok(()) => service.directory.objects.wake(),
            Err(e) => tracing::warn!(error = %e, "what a failed upload left is removed later"),
        }
    }
}

/// Writes exactly `length` bytes; their digest.
async fn copy(
    upload: &mut Upload,
    length: u64,
    body: impl Stream<Item = Result<Bytes, Cut>> + Send,
) -> Result<String> {
    let mismatch = || Error::bad_request("upload length mismatch");
    let mut body = pin!(body);
    let mut sum = digest::Context::new(&digest::SHA256);
    let mut received: u64 = 0;
    while let Some(chunk) = body.next().await {
        let chunk = chunk.map_err(|cut| match cut {
            Cut::Stalled => Error::SlowBody,
            Cut::Broken => mismatch(),
        })?;
        received += chunk.len() as u64;
        if received > length {
            return Err(mismatch());
        }
        sum.update(&chunk);
        upload.write(&chunk).await.map_err(fault)?;
    }
    if received == length { Ok(hex(sum.finish().as_ref())) } else { Err(mismatch()) }
}

/// The base name with only harmless characters; none when nothing is left of it.
fn cleaned(name: &str) -> Option<String> {
    let base = name.rsplit(['/', '\\']).next().unwrap_or_default().trim();
    let is_fine = |c: &char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let clean: String = base.chars().map(|c| if is_fine(&c) { c } else { '_' }).collect();
    (!clean.bytes().all(|b| b == b'.')).then_some(clean)
}

fn suffix(filename: &str) -> &'static str {
    let lower = filename.to_ascii_lowercase();
    SUFFIXES.into_iter().find(|suffix| lower.ends_with(suffix)).unwrap_or(".bin")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_harmless() {
        for (sent, clean) in [
            ("dump.tar.gz", Some("dump.tar.gz")),
            ("/etc/../a b\u{e9}\"\r.gpg", Some("a_b___.gpg")),
            ("C:\\x\\y-1_2.bin", Some("y-1_2.bin")),
            ("", None),
            ("a/", None),
            ("..", None),
            ("../.", None),
        ] {
            assert_eq!(cleaned(sent).as_deref(), clean, "{sent}");
        }
        assert_eq!(["A.TAR.GZ", "x.gpg", "x.zip", "gz"].map(suffix), [".tar.gz", ".gpg", ".bin", ".bin"]);
    }
}
