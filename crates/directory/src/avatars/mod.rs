//! Pictures of users (spec: account#avatars): changed by the users themselves and by administrators, visible to
//! everyone.

mod picture;

use crate::{Directory, images, users};
use aws_lc_rs::digest;
use bailiwick_domain::{AuditAction, Error, ObjectKind, Result, UserId, ports::hex};
use bailiwick_identity::logto_sync;
use bailiwick_platform::{RequestContext, audit};
use bailiwick_policy::Caller;
use bailiwick_store::{
    Tx, avatars, identities,
    images::{self as stored, Content},
};
use bytes::Bytes;
use serde_json::json;

pub use picture::MAX_BYTES;
pub(crate) use picture::Pictures;

/// How often a picture is read again if it was replaced meanwhile.
const TRIES: usize = 4;

/// The user whose picture is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// The caller's own.
    Own,
    /// Another user's; none = malformed id.
    Of(Option<UserId>),
}

/// Stores the picture that `file` gives once the caller has been let in, and returns its address.
///
/// # Errors
/// `user not found` and the refusals of the rank rule; the problems of the file; 502 and 504 of the bucket.
pub async fn upload(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    whose: Whose,
    file: impl Future<Output = Result<Bytes>>,
) -> Result<String> {
    if let Whose::Of(id) = whose {
        users::authorize_change(service, caller, users::load(service, id).await?)?;
    }
    let image = picture::normal_form(service, file.await?).await?;
    let etag = hex(digest::digest(&digest::SHA256, &image).as_ref());
    let mut content = Content::Bytes(image);
    // Permissions are checked again below, on the locked row.
    let id = match whose {
        Whose::Own => caller.user_id().ok_or_else(gone)?,
        Whose::Of(id) => id.ok_or(Error::NotFound(ObjectKind::User))?,
    };
    let staged = images::stage(service, images::Owner::User(id), vec![(&etag, &mut content)]).await?;
    let (tx, user) = match written_down(service, caller, ctx, whose, (content, &etag), &staged).await {
        Ok(written) => written,
        Err(e) => {
            staged.give_up(service).await;
            return Err(e);
        }
    };
    tx.commit().await?;
    service.objects.wake();
    logto_sync::wake(&service.identity);
    let settings = &service.settings;
    Ok(format!("{}{}/public/users/{user}/avatar", settings.app_url(), settings.api_base_url))
}

/// A transaction that has stored the picture, not committed yet, and the picture's user.
async fn written_down(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    whose: Whose,
    (image, etag): (Content, &str),
    staged: &images::Staged,
) -> Result<(Tx, UserId)> {
    let mut tx = service.platform.db.begin().await?;
    let user = lock_user(service, &mut tx, caller, whose).await?;
    let before = avatars::etag(&mut tx, user).await?;
    let now = service.platform.now();
    let replaced = avatars::put(&mut tx, user, image, etag, now).await?;
    images::bury(service, &mut tx, replaced.as_slice()).await?;
    staged.keep(&mut tx).await?;
    let event = audit::Event {
        action: AuditAction::UserAvatar,
        object_type: "user",
        object_id: user.0,
        before: before.map(|etag| json!({"avatar": etag})),
        after: Some(json!({"avatar": etag})),
    };
    audit::record(&mut tx, now, caller, ctx, event).await?;
    logto_sync::picture_changed(&service.identity, &mut tx, user).await?;
    Ok((tx, user))
}

fn gone() -> Error {
    Error::unauthenticated("invalid token")
}

/// Removes the picture; without one, nothing happens.
pub async fn remove(service: &Directory, caller: &Caller, ctx: &RequestContext, whose: Whose) -> Result<()> {
    if let Whose::Of(id) = whose {
        users::authorize_change(service, caller, users::load(service, id).await?)?;
    }
    let mut tx = service.platform.db.begin().await?;
    let user = lock_user(service, &mut tx, caller, whose).await?;
    let before = avatars::etag(&mut tx, user).await?;
    if before.is_none() {
        return Ok(());
    }
    let object = stored::take_of_user(&mut tx, user).await?;
    images::bury(service, &mut tx, object.as_slice()).await?;
    let event = audit::Event {
        action: AuditAction::UserAvatarDelete,
        object_type: "user",
        object_id: user.0,
        before: before.map(|etag| json!({"avatar": etag})),
        after: None,
    };
    audit::record(&mut tx, service.platform.now(), caller, ctx, event).await?;
    logto_sync::picture_changed(&service.identity, &mut tx, user).await?;
    tx.commit().await?;
    service.objects.wake();
    logto_sync::wake(&service.identity);
    Ok(())
}

/// The user whose picture may be changed, with the row locked; permissions are checked again on that row.
async fn lock_user(service: &Directory, tx: &mut Tx, caller: &Caller, whose: Whose) -> Result<UserId> {
    match whose {
        Whose::Own => {
            let id = caller.user_id().ok_or_else(gone)?;
            let user = identities::get_for_login(tx, id).await?.ok_or_else(gone)?;
            if user.standing.is_enabled() { Ok(id) } else { Err(gone()) }
        }
        Whose::Of(None) => Err(Error::NotFound(ObjectKind::User)),
        Whose::Of(Some(id)) => {
            let locked = bailiwick_store::users::lock(tx, id).await?;
            users::authorize_change(service, caller, locked)
        }
    }
}

/// The picture as a client receives it.
#[derive(Clone, Debug)]
pub enum ServedAvatar {
    /// PNG with its entity tag, quoted.
    Image(Bytes, String),
    /// The client has it already.
    Unchanged(String),
}

/// The version of the user's picture; none without a picture.
///
/// # Errors
/// 503 when it cannot be read.
pub async fn version(service: &Directory, user: UserId) -> Result<Option<String>> {
    Ok(avatars::etag(&service.platform.db, user).await?)
}

/// The picture of a user who is not deleted.
///
/// # Errors
/// 429 for an address that asks too often; 404 without a picture; 502, 504 and 503 of the bucket that stores it.
pub async fn show(
    service: &Directory,
    ctx: &RequestContext,
    user: Option<UserId>,
    if_none_match: Option<&str>,
) -> Result<ServedAvatar> {
    service.avatar_requests.check(ctx.client_ip)?;
    let missing = || Error::NotFound(ObjectKind::Avatar);
    let user = user.ok_or_else(missing)?;
    if let Some(if_none_match) = if_none_match {
        let etag = quoted(&avatars::etag(&service.platform.db, user).await?.ok_or_else(missing)?);
        if is_named(if_none_match, &etag) {
            return Ok(ServedAvatar::Unchanged(etag));
        }
    }
    for _ in 0..TRIES {
        let (image, etag) = avatars::image(&service.platform.db, user).await?.ok_or_else(missing)?;
        let object = match image {
            Content::Bytes(image) => return Ok(ServedAvatar::Image(image.into(), quoted(&etag))),
            Content::Object(object) => object,
        };
        let again = async {
            Ok(match avatars::image(&service.platform.db, user).await? {
                Some((Content::Object(object), _)) => Some(object),
                _ => None,
            })
        };
        match images::of_object(service, &object, &etag, missing(), again).await {
            Ok(image) => return Ok(ServedAvatar::Image(image, quoted(&etag))),
            // Replaced, moved or removed since.
            Err(Error::NotFound(_)) => {}
            Err(e) => return Err(e),
        }
    }
    Err(missing())
}

fn quoted(etag: &str) -> String {
    format!("\"{etag}\"")
}

/// Whether an `If-None-Match` names the tag (weak comparison, RFC 9110 §13.1.2).
pub(crate) fn is_named(if_none_match: &str, etag: &str) -> bool {
    if_none_match.trim() == "*"
        || if_none_match.split(',').any(|tag| tag.trim().trim_start_matches("W/") == etag)
}

#[cfg(test)]
mod tests {
    use super::is_named;

    #[test]
    fn tags_are_compared_weakly() {
        for if_none_match in ["*", "\"a\"", "W/\"a\"", "\"b\", \"a\"", " \"b\",W/\"a\" "] {
            assert!(is_named(if_none_match, "\"a\""), "{if_none_match}");
        }
        for if_none_match in ["", "a", "\"b\"", "\"aa\"", "W/*"] {
            assert!(!is_named(if_none_match, "\"a\""), "{if_none_match}");
        }
    }
}
