//! Objects and images (spec: backups#operations, rebranding).

use std::{path::PathBuf, time::Duration};

/// Objects outside the database: backups of systems (spec: backups#operations), and images if configured.
#[derive(Clone, Debug)]
pub struct Assets {
    /// Where they are.
    pub location: ObjectLocation,
    /// Where new images (files of rebranding, pictures of users) go; in the bucket only if `location` is one.
    pub images: ImageHome,
    /// Time for reading one from the bucket.
    pub image_read: Duration,
    /// Time for writing all of one upload into the bucket.
    pub image_write: Duration,
    /// Life of a link to one.
    pub download_lifetime: Duration,
    /// Largest backup.
    pub upload_bytes: u64,
    /// The most concurrent uploads.
    pub uploads: usize,
    /// The most backups kept of one system.
    pub system_backups: usize,
    /// The most bytes of these.
    pub system_bytes: u64,
    /// Bytes of all backups of one organization.
    pub organization_bytes: u64,
}

/// Where objects are kept.
#[derive(Clone, Debug)]
pub enum ObjectLocation {
    /// Not at all: backups are refused.
    Nowhere,
    /// Files below this directory.
    Files(PathBuf),
    /// A bucket with the S3 protocol.
    Bucket(Bucket),
}

pub use bailiwick_outbound::object_storage::Bucket;
pub use bailiwick_store::images::Home as ImageHome;

impl Default for Assets {
    fn default() -> Assets {
        const GIB: u64 = 1024 * 1024 * 1024;
        Assets {
            location: ObjectLocation::Nowhere,
            images: ImageHome::Database,
            image_read: Duration::from_secs(10),
            image_write: Duration::from_secs(15),
            download_lifetime: Duration::from_secs(300),
            upload_bytes: 2 * GIB,
            uploads: 16,
            system_backups: 10,
            system_bytes: 500 * 1024 * 1024,
            organization_bytes: 100 * GIB,
        }
    }
}
