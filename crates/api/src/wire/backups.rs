//! Backups of systems (spec: backups#operations).

use bailiwick_domain::Ts;
use bailiwick_fleet::backups::Backup;
use serde::Serialize;
use utoipa::ToSchema;

/// A stored backup.
#[derive(Debug, Serialize, ToSchema)]
pub struct BackupOutput {
    /// UUIDv7 with the suffix that tells the kind of file.
    pub id: String,
    /// Name of the file, cleaned.
    pub filename: String,
    /// Bytes.
    pub size: i64,
    /// Digest in hexadecimal.
    pub sha256: String,
    /// As the system called it.
    pub mimetype: String,
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub uploaded_at: Ts,
}

impl From<Backup> for BackupOutput {
    fn from(b: Backup) -> BackupOutput {
        let Backup { id, filename, size, sha256, mimetype, uploaded_at, .. } = b;
        BackupOutput { id, filename, size, sha256, mimetype, uploaded_at }
    }
}

/// A system's own backups.
#[derive(Debug, Serialize, ToSchema)]
pub struct BackupList {
    /// The newest first.
    pub backups: Vec<BackupOutput>,
}

/// A system's backups as management sees them.
#[derive(Debug, Serialize, ToSchema)]
pub struct SystemBackupList {
    /// The newest first.
    pub backups: Vec<BackupOutput>,
    /// Bytes of them.
    pub quota_used_bytes: i64,
    /// How many there are.
    pub slots_used: usize,
}

impl From<Vec<Backup>> for SystemBackupList {
    fn from(all: Vec<Backup>) -> SystemBackupList {
        let quota_used_bytes = all.iter().map(|backup| backup.size).sum();
        let backups: Vec<BackupOutput> = all.into_iter().map(Into::into).collect();
        SystemBackupList { quota_used_bytes, slots_used: backups.len(), backups }
    }
}

/// The address of a backup. Never printed: anyone with the address can fetch the backup.
#[derive(Serialize, ToSchema)]
pub struct DownloadOutput {
    /// The address.
    pub download_url: String,
    /// How long it can be used.
    pub expires_in_seconds: u64,
}

/// What a system has deleted.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeletedBackupOutput {
    /// Its id.
    pub id: String,
}

/// What management has deleted.
#[derive(Debug, Serialize, ToSchema)]
pub struct DeletedSystemBackupOutput {
    /// Whose.
    pub system_id: String,
    /// Its id.
    pub backup_id: String,
}
