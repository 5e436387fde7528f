//! Pictures of users (spec: account#avatars). They are removed with the user's row.

use crate::{
    StoreError, Tx,
    images::{Content, Object},
    sql::{On, Q},
};
use bailiwick_domain::{Ts, UserId};

/// A deleted user shows no picture, whether deleted individually or with their organization.
macro_rules! of_living {
    () => {
        " FROM avatars a JOIN users u ON u.id = a.user_id JOIN organizations o ON o.id = u.organization_id \
         WHERE a.user_id = ? AND u.deleted_at IS NULL AND o.eff_deleted_at IS NULL"
    };
}

const ETAG: &str = concat!("SELECT a.etag", of_living!());
const IMAGE: &str = concat!("SELECT a.image, a.etag, a.object_key, a.object_size", of_living!());
const HOLD_OBJECT: &str = "SELECT object_key FROM avatars WHERE user_id = ? [[FOR UPDATE||]]";
const PUT: &str = "INSERT INTO avatars (user_id, image, object_key, object_size, etag, updated_at) \
     VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (user_id) DO UPDATE SET image = excluded.image, \
     object_key = excluded.object_key, object_size = excluded.object_size, etag = excluded.etag, \
     updated_at = excluded.updated_at";

pub(crate) const STATEMENTS: &[(&str, &str)] = crate::sql::statements![ETAG, IMAGE, HOLD_OBJECT, PUT];

/// The entity tag of a picture, without reading the picture.
pub async fn etag(on: impl Into<On<'_>>, user: UserId) -> Result<Option<String>, StoreError> {
    let row: Option<(String,)> = Q::new(ETAG).bind(user).optional(on).await?;
    Ok(row.map(|(etag,)| etag))
}

/// Image, digest, key and size of the object.
type Row = (Vec<u8>, String, Option<String>, Option<i64>);

/// The picture (PNG) with its entity tag.
pub async fn image(on: impl Into<On<'_>>, user: UserId) -> Result<Option<(Content, String)>, StoreError> {
    let row: Option<Row> = Q::new(IMAGE).bind(user).optional(on).await?;
    Ok(row.map(|(image, etag, key, size)| {
        let object = Object::from_row(key, size);
        (object.map_or(Content::Bytes(image), Content::Object), etag)
    }))
}

/// Stores a picture in place of the previous one. The caller holds its row through the user's row. If the previous
/// picture was in an object, the caller enqueues the deletion of that key.
pub async fn put(
    tx: &mut Tx,
    user: UserId,
    image: Content,
    etag: &str,
    at: Ts,
) -> Result<Option<String>, StoreError> {
    let before: Option<(Option<String>,)> = Q::new(HOLD_OBJECT).bind(user).optional(&mut *tx).await?;
    let (image, key, size) = image.into_columns();
    Q::new(PUT).bind(user).bind(image).bind(key).bind(size).bind(etag).bind(at).run(tx).await?;
    Ok(before.and_then(|(key,)| key))
}
