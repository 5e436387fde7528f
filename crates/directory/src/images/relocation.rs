//! Moves images to the configured place while the service runs (`bailiwick assets move`).

use super::{Owner, StoredImage, bucket, bury, is, read, write};
use crate::Directory;
use bailiwick_domain::{Error, Result};
use bailiwick_settings::ImageHome;
use bailiwick_store::images::{self as stored, Content, Image, Which};

/// Images read at once; each is moved in a transaction of its own.
const BATCH: i64 = 50;

/// The result of a move.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// How many images.
    pub images: u64,
    pub bytes: u64,
    /// Images that stay where they are, with the reason: their bytes are missing or have changed.
    pub unreadable: Vec<String>,
}

/// Where they are and new ones do not go.
const fn other(target: ImageHome) -> ImageHome {
    match target {
        ImageHome::Database => ImageHome::Bucket,
        ImageHome::Bucket => ImageHome::Database,
    }
}

/// Number of images that are not in the configured place.
pub async fn left_to_move(service: &Directory) -> Result<u64> {
    Ok(stored::count(&service.platform.db, other(service.settings.assets.images)).await?)
}

/// Moves every image to the configured place, in the order of their owners, and after each batch calls `each` with the
/// number so far. If it is interrupted, moved images stay moved and another call continues.
///
/// # Errors
/// The first failure of storage or database; moved images stay moved.
pub async fn move_all(service: &Directory, mut each: impl FnMut(u64)) -> Result<Moved> {
    // Nothing is begun where it cannot be ended.
    bucket(service)?;
    let target = service.settings.assets.images;
    let (mut moved, mut after) = (Moved::default(), None);
    loop {
        let batch = stored::batch(&service.platform.db, other(target), after.as_ref(), BATCH).await?;
        let Some(last) = batch.last() else { break };
        after = Some(last.which.clone());
        for image in &batch {
            let done = match target {
                ImageHome::Bucket => into_bucket(service, image).await?,
                ImageHome::Database => into_database(service, image).await?,
            };
            match done {
                Done::Moved(bytes) => {
                    moved.images += 1;
                    moved.bytes += bytes as u64;
                }
                Done::Changed => {}
                Done::Unreadable => moved.unreadable.push(name(image)),
            }
        }
        each(moved.images);
    }
    service.objects.wake();
    Ok(moved)
}

enum Done {
    Moved(usize),
    /// Replaced, removed or moved meanwhile by another request; it is now in the configured place.
    Changed,
    Unreadable,
}

/// A name for people.
fn name(image: &Image) -> String {
    match &image.which {
        Which::File(organization, product, asset) => format!("{asset} of {product} of {organization}"),
        Which::Picture(user) => format!("picture of {user}"),
    }
}

async fn into_bucket(service: &Directory, image: &Image) -> Result<Done> {
    let Some(bytes) = stored::bytes(&service.platform.db, image).await? else { return Ok(Done::Changed) };
    if !is(&bytes, &image.sha256) {
        return Ok(Done::Unreadable);
    }
    let size = bytes.len();
    let owner = match image.which {
        Which::File(organization, ..) => Owner::Organization(organization),
        Which::Picture(user) => Owner::User(user),
    };
    let mut content = Content::Bytes(bytes);
    let staged = write(service, owner, vec![(&image.sha256, &mut content)]).await?;
    let listed = async {
        let mut tx = service.platform.db.begin().await?;
        if !stored::relocate(&mut tx, image, content).await? {
            return Ok(None);
        }
        staged.keep(&mut tx).await?;
        Ok::<_, Error>(Some(tx))
    };
    match listed.await {
        Ok(Some(tx)) => {
            tx.commit().await?;
            Ok(Done::Moved(size))
        }
        Ok(None) => {
            staged.give_up(service).await;
            Ok(Done::Changed)
        }
        Err(e) => {
            staged.give_up(service).await;
            Err(e)
        }
    }
}

async fn into_database(service: &Directory, image: &Image) -> Result<Done> {
    let Some(object) = &image.object else { return Ok(Done::Changed) };
    let StoredImage::Whole(bytes) = read(service, object, &image.sha256).await? else {
        return Ok(Done::Unreadable);
    };
    let size = bytes.len();
    let mut tx = service.platform.db.begin().await?;
    if !stored::relocate(&mut tx, image, Content::Bytes(bytes.to_vec())).await? {
        return Ok(Done::Changed);
    }
    bury(service, &mut tx, std::slice::from_ref(&object.key)).await?;
    tx.commit().await?;
    Ok(Done::Moved(size))
}
