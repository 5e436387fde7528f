//! The storage of image bytes, for rebranding files and pictures of users: in their rows, or in objects of a bucket
//! that the rows name. A key is used for one object and never again, so an object without references stays without.

use crate::{
    StoreError, Tx, backups,
    sql::{On, Q},
    tree::subtree_column,
};
use bailiwick_domain::{OrgId, OrgType, Ts, UserId};
use uuid::Uuid;

const REFERS: &str = "SELECT 1 AS one FROM rebranding_assets WHERE object_key = ? \
     UNION ALL SELECT 1 FROM avatars WHERE object_key = ?";
const TAKE_OF_USER: &str = "DELETE FROM avatars WHERE user_id = ? RETURNING object_key";
const ANY_OBJECT: &str = "SELECT 1 AS one WHERE \
     EXISTS (SELECT 1 FROM rebranding_assets WHERE object_key IS NOT NULL) \
     OR EXISTS (SELECT 1 FROM avatars WHERE object_key IS NOT NULL)";
const COUNT_ROWS: &str = "SELECT (SELECT COUNT(*) FROM rebranding_assets WHERE object_key IS NULL) \
     + (SELECT COUNT(*) FROM avatars WHERE object_key IS NULL)";
const COUNT_OBJECTS: &str = "SELECT (SELECT COUNT(*) FROM rebranding_assets WHERE object_key IS NOT NULL) \
     + (SELECT COUNT(*) FROM avatars WHERE object_key IS NOT NULL)";

macro_rules! files {
    ($where:literal) => {
        concat!(
            "SELECT organization_id, product_id, asset, sha256, object_key, object_size FROM rebranding_assets WHERE ",
            $where,
            " AND (organization_id, product_id, asset) > (?, ?, ?) ORDER BY organization_id, product_id, asset LIMIT ?"
        )
    };
}
macro_rules! pictures {
    ($where:literal) => {
        concat!(
            "SELECT user_id, etag, object_key, object_size FROM avatars WHERE ",
            $where,
            " AND user_id > ? ORDER BY user_id LIMIT ?"
        )
    };
}
const FILES_IN_ROWS: &str = files!("object_key IS NULL");
const FILES_IN_OBJECTS: &str = files!("object_key IS NOT NULL");
const PICTURES_IN_ROWS: &str = pictures!("object_key IS NULL");
const PICTURES_IN_OBJECTS: &str = pictures!("object_key IS NOT NULL");
const FILE_BYTES: &str = "SELECT bytes FROM rebranding_assets WHERE organization_id = ? AND product_id = ? \
     AND asset = ? AND sha256 = ? AND object_key IS NULL";
const PICTURE_BYTES: &str = "SELECT image FROM avatars WHERE user_id = ? AND etag = ? AND object_key IS NULL";
const MOVE_FILE: &str = "UPDATE rebranding_assets SET bytes = ?, object_key = ?, object_size = ? \
     WHERE organization_id = ? AND product_id = ? AND asset = ? AND sha256 = ? AND COALESCE(object_key, '') = ?";
const MOVE_PICTURE: &str = "UPDATE avatars SET image = ?, object_key = ?, object_size = ? \
     WHERE user_id = ? AND etag = ? AND COALESCE(object_key, '') = ?";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![
    REFERS,
    TAKE_OF_USER,
    ANY_OBJECT,
    COUNT_ROWS,
    COUNT_OBJECTS,
    FILES_IN_ROWS,
    FILES_IN_OBJECTS,
    PICTURES_IN_ROWS,
    PICTURES_IN_OBJECTS,
    FILE_BYTES,
    PICTURE_BYTES,
    MOVE_FILE,
    MOVE_PICTURE
];

/// Where bytes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// In the row.
    Database,
    /// In an object of the bucket.
    Bucket,
}

/// An object that a row names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    pub key: String,
    /// Its size in bytes.
    pub size: i64,
}

impl Object {
    /// The object a row refers to; none = the row has the bytes itself.
    pub(crate) fn from_row(key: Option<String>, size: Option<i64>) -> Option<Object> {
        key.map(|key| Object { key, size: size.unwrap_or_default() })
    }
}

/// The bytes of an image, or where they are.
#[derive(Clone, Debug)]
pub enum Content {
    /// Themselves.
    Bytes(Vec<u8>),
    /// In an object.
    Object(Object),
}

impl Content {
    /// As the columns of a row: bytes, key, size.
    pub(crate) fn into_columns(self) -> (Vec<u8>, Option<String>, Option<i64>) {
        match self {
            Content::Bytes(bytes) => (bytes, None, None),
            Content::Object(Object { key, size }) => (Vec::new(), Some(key), Some(size)),
        }
    }
}

/// Whether an image has its bytes under this key.
pub async fn refers(on: impl Into<On<'_>>, key: &str) -> Result<bool, StoreError> {
    let row: Option<(i32,)> = Q::new(REFERS).bind(key).bind(key).optional(on).await?;
    Ok(row.is_some())
}

/// Removes all images of a subtree; the caller must [`backups::bury`] the keys of their objects. Users and
/// organizations of the subtree are locked.
pub async fn take_below(
    tx: &mut Tx,
    organization: OrgId,
    org_type: OrgType,
) -> Result<Vec<String>, StoreError> {
    let files = format!(
        "DELETE FROM rebranding_assets WHERE organization_id IN (SELECT id FROM organizations WHERE {} = ?) \
         RETURNING object_key",
        subtree_column(org_type, "id")
    );
    let pictures = format!(
        "DELETE FROM avatars WHERE user_id IN (SELECT id FROM users WHERE {} = ?) RETURNING object_key",
        subtree_column(org_type, "organization_id")
    );
    let mut keys = Vec::new();
    for statement in [files, pictures] {
        let rows: Vec<(Option<String>,)> = Q::new(&statement).bind(organization).all(&mut *tx).await?;
        keys.extend(rows.into_iter().filter_map(|(key,)| key));
    }
    Ok(keys)
}

/// Removes the picture of a user; the caller must [`backups::bury`] the key of its object, where it has one.
pub async fn take_of_user(tx: &mut Tx, user: UserId) -> Result<Option<String>, StoreError> {
    let row: Option<(Option<String>,)> = Q::new(TAKE_OF_USER).bind(user).optional(tx).await?;
    Ok(row.and_then(|(key,)| key))
}

/// Whether any image is in an object.
pub async fn any_in_objects(on: impl Into<On<'_>>) -> Result<bool, StoreError> {
    let row: Option<(i32,)> = Q::new(ANY_OBJECT).optional(on).await?;
    Ok(row.is_some())
}

/// How many images are at this home.
pub async fn count(on: impl Into<On<'_>>, at: Home) -> Result<u64, StoreError> {
    let statement = match at {
        Home::Database => COUNT_ROWS,
        Home::Bucket => COUNT_OBJECTS,
    };
    Q::new(statement).count(on).await
}

/// Which image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// A file of rebranding: organization, product and asset.
    File(OrgId, String, String),
    /// The picture of a user.
    Picture(UserId),
}

/// An image that may be moved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub which: Which,
    /// SHA-256 (hex) of its bytes.
    pub sha256: String,
    /// Where they are; none = in the row.
    pub object: Option<Object>,
}

impl Image {
    fn key(&self) -> String {
        self.object.as_ref().map(|object| object.key.clone()).unwrap_or_default()
    }
}

/// Up to `limit` images that are at this home, in their order, after one.
pub async fn batch(
    on: impl Into<On<'_>>,
    at: Home,
    after: Option<&Which>,
    limit: i64,
) -> Result<Vec<Image>, StoreError> {
    let mut on = on.into();
    let (files, pictures) = match at {
        Home::Database => (FILES_IN_ROWS, PICTURES_IN_ROWS),
        Home::Bucket => (FILES_IN_OBJECTS, PICTURES_IN_OBJECTS),
    };
    let mut images = Vec::new();
    let user = match after {
        Some(Which::Picture(user)) => *user,
        _ => {
            let first = (OrgId(Uuid::nil()), String::new(), String::new());
            let (organization, product, asset) = match after {
                Some(Which::File(organization, product, asset)) => {
                    (*organization, product.clone(), asset.clone())
                }
                _ => first,
            };
            let q = Q::new(files).bind(organization).bind(product).bind(asset).bind(limit);
            let rows: Vec<FileRow> = q.all(on.reborrow()).await?;
            images.extend(rows.into_iter().map(|(organization, product, asset, sha256, key, size)| Image {
                which: Which::File(OrgId(organization), product, asset),
                sha256,
                object: Object::from_row(key, size),
            }));
            UserId(Uuid::nil())
        }
    };
    let left = limit.saturating_sub(images.len() as i64);
    if left > 0 {
        let rows: Vec<PictureRow> = Q::new(pictures).bind(user).bind(left).all(on).await?;
        images.extend(rows.into_iter().map(|(user, sha256, key, size)| Image {
            which: Which::Picture(UserId(user)),
            sha256,
            object: Object::from_row(key, size),
        }));
    }
    Ok(images)
}

type FileRow = (Uuid, String, String, String, Option<String>, Option<i64>);
type PictureRow = (Uuid, String, Option<String>, Option<i64>);

/// The bytes of an image, if its row still has those with this SHA-256.
pub async fn bytes(on: impl Into<On<'_>>, image: &Image) -> Result<Option<Vec<u8>>, StoreError> {
    let q = match &image.which {
        Which::File(organization, product, asset) => {
            Q::new(FILE_BYTES).bind(*organization).bind(product).bind(asset)
        }
        Which::Picture(user) => Q::new(PICTURE_BYTES).bind(*user),
    };
    let row: Option<(Vec<u8>,)> = q.bind(&image.sha256).optional(on).await?;
    Ok(row.map(|(bytes,)| bytes))
}

/// Records that the bytes of an image were moved; false when it is no longer the image that was read. The caller must
/// [`backups::bury`] the object that it named before.
pub async fn relocate(tx: &mut Tx, image: &Image, content: Content) -> Result<bool, StoreError> {
    let (bytes, key, size) = content.into_columns();
    let q = match &image.which {
        Which::File(organization, product, asset) => {
            Q::new(MOVE_FILE).bind(bytes).bind(key).bind(size).bind(*organization).bind(product).bind(asset)
        }
        Which::Picture(user) => Q::new(MOVE_PICTURE).bind(bytes).bind(key).bind(size).bind(*user),
    };
    Ok(q.bind(&image.sha256).bind(image.key()).run(tx).await? > 0)
}

/// Enqueues the deletion of objects while they are being written, in case no row comes to refer to them:
/// [`backups::cancel_removal`] cancels it.
pub async fn intend(
    tx: &mut Tx,
    keys: &[String],
    next_at: Ts,
    at: Ts,
    mut fresh: impl FnMut() -> bailiwick_domain::JobId,
) -> Result<(), StoreError> {
    for key in keys {
        backups::bury_later(tx, fresh(), key, next_at, at).await?;
    }
    Ok(())
}
