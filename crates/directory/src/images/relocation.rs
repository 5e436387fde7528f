//! Moving images to where new ones go, beside a service that runs (`bailiwick assets move`).

use super::{Found, Owner, bucket, bury, is, read, write};
use crate::Directory;
use bailiwick_domain::{Error, Result};
use bailiwick_settings::ImageHome;
use bailiwick_store::images::{self as stored, Content, Image, Which};

/// Images looked up at once; each is moved in a transaction of its own.
const BATCH: i64 = 50;

/// What has been moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// How many images.
    pub images: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Those that stay where they are, with the reason: their bytes are not there or not what they were.
    pub unreadable: Vec<String>,
}

/// Where they are and new ones do not go.
const fn other(home: ImageHome) -> ImageHome {
    match home {
        ImageHome::Database => ImageHome::Bucket,
        ImageHome::Bucket => ImageHome::Database,
    }
}

/// How many images are elsewhere than new ones go.
pub async fn left_to_move(service: &Directory) -> Result<u64> {
    Ok(stored::count(&service.db, other(service.settings.assets.images)).await?)
}

/// Moves every image that is elsewhere to where new ones go, in the order of their owners, and tells `each` how many that
/// have been after each batch. Stopped anywhere, what has been moved is moved, and called again it goes on.
///
/// # Errors
/// The first failure of storage or database; what has been moved stays moved.
pub async fn move_all(service: &Directory, mut each: impl FnMut(u64)) -> Result<Moved> {
    // Nothing is begun where it cannot be ended.
    bucket(service)?;
    let home = service.settings.assets.images;
    let (mut moved, mut after) = (Moved::default(), None);
    loop {
        let batch = stored::batch(&service.db, other(home), after.as_ref(), BATCH).await?;
        let Some(last) = batch.last() else { break };
        after = Some(last.which.clone());
        for image in &batch {
            let done = match home {
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
    /// Replaced, removed or moved by somebody else meanwhile; what is there now is where it should be.
    Changed,
    Unreadable,
}

/// What people call it by.
fn name(image: &Image) -> String {
    match &image.which {
        Which::File(organization, product, asset) => format!("{asset} of {product} of {organization}"),
        Which::Picture(user) => format!("picture of {user}"),
    }
}

async fn into_bucket(service: &Directory, image: &Image) -> Result<Done> {
    let Some(bytes) = stored::bytes(&service.db, image).await? else { return Ok(Done::Changed) };
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
        let mut tx = service.db.begin().await?;
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
    let Found::Whole(bytes) = read(service, object, &image.sha256).await? else {
        return Ok(Done::Unreadable);
    };
    let size = bytes.len();
    let mut tx = service.db.begin().await?;
    if !stored::relocate(&mut tx, image, Content::Bytes(bytes.to_vec())).await? {
        return Ok(Done::Changed);
    }
    bury(service, &mut tx, std::slice::from_ref(&object.key)).await?;
    tx.commit().await?;
    Ok(Done::Moved(size))
}
