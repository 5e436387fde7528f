//! Backups of a system as management sees them (spec: backups#operations).

use crate::{
    envelope::Answer,
    error::{Failure, Outcome},
    extract::{Ctx, PathId, Service, Who},
    wire::backups::{DeletedSystemBackupOutput, DownloadOutput, SystemBackupList},
};
use axum::extract::{FromRequestParts, RawPathParams};
use bailiwick_domain::SystemId;
use bailiwick_fleet::{Fleet, backups};
use http::request::Parts;

/// A system and the path after `backups/`, not decoded.
#[derive(Debug)]
pub struct BackupPath {
    system: Option<SystemId>,
    id: String,
}

impl<S: Send + Sync> FromRequestParts<S> for BackupPath {
    type Rejection = Failure;
    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<BackupPath, Failure> {
        // A path that is not UTF-8 names nothing.
        let params = RawPathParams::from_request_parts(parts, state).await.ok();
        let find = |key: &str| {
            let mut all = params.iter().flat_map(RawPathParams::iter);
            all.find(|(name, _)| *name == key).map(|(_, value)| value.to_owned())
        };
        let system = find("id").and_then(|id| id.parse().ok());
        Ok(BackupPath { system, id: find("backup_id").unwrap_or_default() })
    }
}

/// `GET /systems/{id}/backups`.
pub async fn list(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    PathId(id): PathId<SystemId>,
) -> Outcome<Answer<SystemBackupList>> {
    let found = backups::list(&fleet, &caller, id).await?;
    Ok(Answer::ok("backups retrieved successfully", found.into()))
}

/// `GET /systems/{id}/backups/{backup_id}/download`.
pub async fn link(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    path: BackupPath,
) -> Outcome<Answer<DownloadOutput>> {
    let link = backups::link(&fleet, &caller, path.system, &path.id).await?;
    let data = DownloadOutput { download_url: link.url, expires_in_seconds: link.seconds };
    Ok(Answer::ok("download URL issued", data))
}

/// `DELETE /systems/{id}/backups/{backup_id}`.
pub async fn delete(
    Service(fleet): Service<Fleet>,
    Who(caller): Who,
    Ctx(request): Ctx,
    path: BackupPath,
) -> Outcome<Answer<DeletedSystemBackupOutput>> {
    let system = backups::delete(&fleet, &caller, &request, (path.system, &path.id)).await?;
    let data = DeletedSystemBackupOutput { system_id: system.to_string(), backup_id: path.id };
    Ok(Answer::ok("backup deleted", data))
}
