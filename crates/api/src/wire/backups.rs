//! Backups of systems (spec: backups#operations).

use bailiwick_domain::Ts;
use bailiwick_fleet::backups::Backup;
use serde::Serialize;
use utoipa::ToSchema;

/// A stored backup of a system.
#[derive(Debug, Serialize, ToSchema)]
pub struct BackupOutput {
    /// Unique identifier of the backup: a UUID with the suffix of the file name, such as `.tar.gz` or `.bin`.
    pub id: String,
    /// Name of the file, at most 255 characters. Characters outside `A-Za-z0-9._-` are replaced by `_`.
    pub filename: String,
    /// Size of the file in bytes.
    pub size: i64,
    /// SHA-256 of the file in hexadecimal.
    pub sha256: String,
    /// Media type of the file, as the system sent it.
    pub mimetype: String,
    /// When the backup was uploaded.
    #[schema(value_type = String, format = DateTime)]
    pub uploaded_at: Ts,
}

impl From<Backup> for BackupOutput {
    fn from(b: Backup) -> BackupOutput {
        let Backup { id, filename, size, sha256, mimetype, uploaded_at, .. } = b;
        BackupOutput { id, filename, size, sha256, mimetype, uploaded_at }
    }
}

/// The backups of the calling system.
#[derive(Debug, Serialize, ToSchema)]
pub struct BackupList {
    /// The backups, newest first.
    pub backups: Vec<BackupOutput>,
}

/// The backups of a system.
#[derive(Debug, Serialize, ToSchema)]
pub struct SystemBackupList {
    /// The backups, newest first.
    pub backups: Vec<BackupOutput>,
    /// Size of all backups of the system in bytes.
    pub quota_used_bytes: i64,
    /// Number of backups.
    pub slots_used: usize,
}

impl From<Vec<Backup>> for SystemBackupList {
    fn from(all: Vec<Backup>) -> SystemBackupList {
        let quota_used_bytes = all.iter().map(|backup| backup.size).sum();
        let backups: Vec<BackupOutput> = all.into_iter().map(Into::into).collect();
        SystemBackupList { quota_used_bytes, slots_used: backups.len(), backups }
    }
}

/// The address that a backup can be downloaded from.
// No `Debug`: anyone with the address can fetch the backup.
#[derive(Serialize, ToSchema)]
pub struct DownloadOutput {
    /// The address. It needs no credential, so it must be kept secret.
    #[schema(format = "uri")]
    pub download_url: String,
    /// Number of seconds that the address can be used.
    pub expires_in_seconds: u64,
}

/// The backup that the system has deleted.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeletedBackupOutput {
    /// Id of the backup.
    pub id: String,
}

/// The backup that was deleted.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeletedSystemBackupOutput {
    /// Id of the system.
    pub system_id: String,
    /// Id of the backup.
    pub backup_id: String,
}
