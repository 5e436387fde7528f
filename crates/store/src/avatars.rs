//! Pictures of users (contract 01 §3.4). They go with the user's row.

use crate::{
    StoreError, Tx,
    sql::{On, Q},
};
use bailiwick_domain::{Ts, UserId};

/// A deleted user, on his own or with his organization, shows no picture.
macro_rules! of_living {
    () => {
        " FROM avatars a JOIN users u ON u.id = a.user_id JOIN organizations o ON o.id = u.organization_id \
         WHERE a.user_id = ? AND u.deleted_at IS NULL AND o.eff_deleted_at IS NULL"
    };
}

pub(crate) const ETAG: &str = concat!("SELECT a.etag", of_living!());
pub(crate) const IMAGE: &str = concat!("SELECT a.image, a.etag", of_living!());
pub(crate) const PUT: &str = "INSERT INTO avatars (user_id, image, etag, updated_at) VALUES (?, ?, ?, ?) \
     ON CONFLICT (user_id) DO UPDATE SET image = excluded.image, etag = excluded.etag, updated_at = excluded.updated_at";
pub(crate) const REMOVE: &str = "DELETE FROM avatars WHERE user_id = ?";

/// What a picture is known by, without reading it.
pub async fn etag(on: impl Into<On<'_>>, user: UserId) -> Result<Option<String>, StoreError> {
    let row: Option<(String,)> = Q::new(ETAG).bind(user).optional(on).await?;
    Ok(row.map(|(etag,)| etag))
}

/// The picture (PNG) with what it is known by.
pub async fn image(on: impl Into<On<'_>>, user: UserId) -> Result<Option<(Vec<u8>, String)>, StoreError> {
    Q::new(IMAGE).bind(user).optional(on).await
}

/// Stores a picture in the place of the one before.
pub async fn put(tx: &mut Tx, user: UserId, image: Vec<u8>, etag: &str, at: Ts) -> Result<(), StoreError> {
    Q::new(PUT).bind(user).bind(image).bind(etag).bind(at).run(tx).await.map(|_| ())
}

/// Removes it; false when there was none.
pub async fn remove(tx: &mut Tx, user: UserId) -> Result<bool, StoreError> {
    Ok(Q::new(REMOVE).bind(user).run(tx).await? > 0)
}
