//! Images (files of rebranding, pictures of users) in a bucket: the row describes the image and names its object.
//!
//! The object is written before the transaction that refers to it. Before the object, a job is written that deletes it
//! again, and the transaction removes that job ([`Staged::keep`]). So a crash leaves neither a row without bytes nor
//! bytes that are never removed. A transaction that removes a reference also enqueues the deletion. Keys are never
//! reused, so a deletion never meets a new object, even if the same content comes back meanwhile.

mod relocation;

pub use relocation::{Moved, left_to_move, move_all};

use crate::Directory;
use aws_lc_rs::digest;
use bailiwick_domain::{Error, OrgId, Result, UserId, ports::hex};
use bailiwick_outbound::object_storage::{AssetError, AssetStore};
use bailiwick_platform::limits::acquire_within;
use bailiwick_settings::{ImageHome, ObjectLocation};
use bailiwick_store::{
    Tx, backups,
    images::{self as stored, Content, Object},
};
use bytes::Bytes;
use moka::future::Cache;
use std::{sync::Arc, time::Duration};
use tokio::sync::Semaphore;

/// Bytes of images cached in memory: all systems below an organization request the same few.
const KEPT_BYTES: u64 = 32 * 1024 * 1024;
/// Objects read at once, each with the bytes of one image.
const READS: usize = 16;
/// How long a reader waits for a place.
const TURN: Duration = Duration::from_secs(5);
/// How long the check of the bucket may take when the service starts.
const LOOK: Duration = Duration::from_secs(30);
/// An object without a reference after this time is abandoned.
const ABANDONED: Duration = Duration::from_secs(2 * 3600);

/// The state the use cases keep in memory.
#[derive(Debug)]
pub struct Images {
    /// By digest, so that an entry can never be another image.
    cache: Cache<String, Bytes>,
    places: Arc<Semaphore>,
}

impl Default for Images {
    fn default() -> Images {
        let weight =
            |digest: &String, bytes: &Bytes| u32::try_from(digest.len() + bytes.len()).unwrap_or(u32::MAX);
        Images {
            cache: Cache::builder().max_capacity(KEPT_BYTES).weigher(weight).build(),
            places: Arc::new(Semaphore::new(READS)),
        }
    }
}

impl Images {
    /// The image with this digest, from memory or by `read`; concurrent callers share one read.
    pub(crate) async fn get(&self, sha256: &str, read: impl Future<Output = Result<Bytes>>) -> Result<Bytes> {
        let bytes = self.cache.try_get_with(sha256.to_owned(), read).await;
        bytes.map_err(|e: Arc<Error>| (*e).clone())
    }

    /// Clears the cache, as if the process had just started.
    #[doc(hidden)]
    pub fn forget(&self) {
        self.cache.invalidate_all();
    }
}

/// The owner of an image: the first part of its key.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Owner {
    /// A file of an organization's rebranding.
    Organization(OrgId),
    /// The picture of a user.
    User(UserId),
}

impl Owner {
    /// A key that nothing else ever has.
    fn key(self, service: &Directory, sha256: &str) -> String {
        let fresh: uuid::Uuid = service.platform.fresh();
        match self {
            Owner::Organization(id) => format!("{REBRANDING}{id}/{sha256}-{fresh}"),
            Owner::User(id) => format!("{AVATARS}{id}/{sha256}-{fresh}"),
        }
    }
}

const REBRANDING: &str = "rebranding/";
const AVATARS: &str = "avatars/";

/// Whether an object is an image, by its key. Those of backups begin with an id.
pub(crate) fn is_image(key: &str) -> bool {
    key.starts_with(REBRANDING) || key.starts_with(AVATARS)
}

/// The storage, if it is a bucket: only a bucket stores images.
fn bucket(service: &Directory) -> Result<&AssetStore> {
    match service.settings.assets.location {
        ObjectLocation::Bucket(_) => service.objects.store(),
        ObjectLocation::Nowhere | ObjectLocation::Files(_) => {
            let message = "asset storage is not configured".into();
            Err(Error::Unavailable { message, log: "an image is in a bucket, and none is configured".into() })
        }
    }
}

/// The error of the storage.
fn fault(e: AssetError) -> Error {
    match e {
        AssetError::NotFound => lost("an object that is referred to is not there"),
        AssetError::Unreachable(log) | AssetError::Damaged(log) => lost(&log),
        AssetError::TimedOut => Error::UpstreamTimeout("asset storage timed out".into()),
    }
}

fn lost(log: &str) -> Error {
    Error::Upstream { message: "asset storage is unavailable".into(), log: log.to_owned() }
}

/// Images of one upload, ready to be referred to. Their objects exist already, if images are stored in a bucket.
#[derive(Debug)]
pub(crate) struct Staged {
    keys: Vec<String>,
}

/// Stages images, each with its digest, in the configured place, and replaces each by the content for its row.
///
/// # Errors
/// 502 and 504 of the storage, 503 when there is none; nothing is left behind then.
pub(crate) async fn stage(
    service: &Directory,
    owner: Owner,
    images: Vec<(&str, &mut Content)>,
) -> Result<Staged> {
    if service.settings.assets.images == ImageHome::Database {
        return Ok(Staged { keys: Vec::new() });
    }
    write(service, owner, images).await
}

/// Writes images into objects of their own.
async fn write(service: &Directory, owner: Owner, images: Vec<(&str, &mut Content)>) -> Result<Staged> {
    let bucket = bucket(service)?;
    let (mut keys, mut objects) = (Vec::new(), Vec::new());
    for (sha256, content) in images {
        let Content::Bytes(bytes) = content else { continue };
        let bytes = Bytes::from(std::mem::take(bytes));
        let key = owner.key(service, sha256);
        let size = i64::try_from(bytes.len()).map_err(Error::internal)?;
        *content = Content::Object(Object { key: key.clone(), size });
        keys.push(key.clone());
        objects.push((key, bytes));
    }
    let now = service.platform.now();
    let mut tx = service.platform.db.begin().await?;
    stored::intend(&mut tx, &keys, now.plus(ABANDONED), now, || service.platform.fresh()).await?;
    tx.commit().await?;
    let staged = Staged { keys };
    let longest = service.settings.assets.image_write;
    let written = async {
        for (key, bytes) in objects {
            bucket.put(&key, bytes, longest).await?;
        }
        Ok(())
    };
    let written = tokio::time::timeout(longest, written).await.unwrap_or(Err(AssetError::TimedOut));
    // After a timeout the storage may still write the object, so it must be deleted later, not now.
    written.map_err(fault)?;
    Ok(staged)
}

impl Staged {
    /// Keeps the objects; to be called in the transaction that refers to them.
    ///
    /// # Errors
    /// 503 when it took so long that they may be deleted already.
    pub async fn keep(&self, tx: &mut Tx) -> Result<()> {
        for key in &self.keys {
            if !backups::cancel_removal(tx, key).await? {
                let log = "an image took so long to be stored that its object was given up".to_owned();
                return Err(Error::Unavailable { message: "service temporarily unavailable".into(), log });
            }
        }
        Ok(())
    }

    /// Deletes the objects at once, as no row will refer to them. If this fails or is never called, the job deletes
    /// them later.
    pub async fn give_up(self, service: &Directory) {
        if self.keys.is_empty() {
            return;
        }
        let now = service.platform.now();
        let sooner = async {
            let mut tx = service.platform.db.begin().await?;
            stored::intend(&mut tx, &self.keys, now, now, || service.platform.fresh()).await?;
            tx.commit().await
        };
        match sooner.await {
            Ok(()) => service.objects.wake(),
            Err(e) => tracing::warn!(error = %e, "what a failed upload left is removed later"),
        }
    }
}

/// Enqueues the deletion of objects in the transaction that removes the last reference. Wake the worker after its
/// commit.
pub(crate) async fn bury(service: &Directory, tx: &mut Tx, keys: &[String]) -> Result<()> {
    Ok(backups::bury(tx, keys, service.platform.now(), || service.platform.fresh()).await?)
}

/// The state of an object.
enum StoredImage {
    /// The object as it was written.
    Whole(Bytes),
    /// Other bytes, with the sign of that.
    Damaged(String),
    /// Missing, for example because the image was replaced meanwhile.
    Missing,
}

/// Reads an object.
///
/// # Errors
/// 502 and 504 of the storage; 503 when there is none, or too many read from it.
async fn read(service: &Directory, object: &Object, sha256: &str) -> Result<StoredImage> {
    let bucket = bucket(service)?;
    let permit = service.images.places.clone().acquire_owned();
    let _permit = acquire_within(permit, TURN, "too many images are read from the bucket").await?;
    let size = u64::try_from(object.size).map_err(Error::internal)?;
    match bucket.get(&object.key, size, service.settings.assets.image_read).await {
        Ok(bytes) if is(&bytes, sha256) => Ok(StoredImage::Whole(bytes)),
        Ok(_) => Ok(StoredImage::Damaged(format!("{} has another digest", object.key))),
        Err(AssetError::Damaged(log)) => Ok(StoredImage::Damaged(log)),
        Err(AssetError::NotFound) => Ok(StoredImage::Missing),
        Err(e) => Err(fault(e)),
    }
}

fn is(bytes: &[u8], sha256: &str) -> bool {
    hex(digest::digest(&digest::SHA256, bytes).as_ref()) == sha256
}

/// The image of a row that names an object, from memory or the bucket. `again` reads the row again; it is called when
/// the object does not exist.
///
/// # Errors
/// 502 and 504 of the storage, 503 when there is none or too many read from it; `gone` when the row has changed
/// meanwhile; 502 when it still names a missing object.
pub(crate) async fn of_object(
    service: &Directory,
    object: &Object,
    sha256: &str,
    gone: Error,
    again: impl Future<Output = Result<Option<Object>>>,
) -> Result<Bytes> {
    let read = async {
        match read(service, object, sha256).await? {
            StoredImage::Whole(bytes) => Ok(bytes),
            StoredImage::Damaged(log) => Err(lost(&log)),
            StoredImage::Missing if again.await?.as_ref() == Some(object) => Err(fault(AssetError::NotFound)),
            StoredImage::Missing => Err(gone),
        }
    };
    service.images.get(sha256, read).await
}

/// Deletes an object, unless an image refers to it.
///
/// # Errors
/// The storage, or an error if none is configured: an object of a bucket is not gone just because the bucket is no
/// longer configured.
pub(crate) async fn delete_unlisted(service: &Directory, key: &str) -> Result<()> {
    if stored::refers(&service.platform.db, key).await? {
        return Ok(());
    }
    bucket(service)?.delete(key).await.map_err(fault)
}

/// Problems to report to the operator: images that cannot be shown with the present configuration, a bucket that cannot
/// be used. The service continues despite them.
///
/// # Errors
/// The database.
pub async fn complaints(service: &Directory) -> Result<Vec<String>> {
    let mut complaints = Vec::new();
    if matches!(service.settings.assets.location, ObjectLocation::Bucket(_)) {
        let looked = match bucket(service) {
            Ok(bucket) => bucket.check(LOOK).await.map_err(|e| e.to_string()),
            Err(e) => Err(e.to_string()),
        };
        if let Err(why) = looked {
            complaints.push(format!("the bucket (assets.bucket) cannot be used now: {why}"));
        }
    } else if stored::any_in_objects(&service.platform.db).await? {
        complaints.push(
            "images are in a bucket and assets.bucket is not set: they cannot be shown or deleted".to_owned(),
        );
    }
    Ok(complaints)
}
