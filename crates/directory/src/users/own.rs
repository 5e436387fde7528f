//! POST `/me/change-info` (spec: account#change-info): a user's changes to their own data.

use super::{
    audited,
    fields::{Accepted, SentFields, accept, sent_values},
    update::mails,
};
use crate::Directory;
use bailiwick_domain::{
    AuditAction, Error, Happening, Result, User, UserId,
    validate::{Email, Fields},
    visible::is_blank,
};
use bailiwick_events::{
    EventDraft,
    mail::{self, ChangedBy},
};
use bailiwick_identity::{auth::check_fresh_sign_in, logto_sync};
use bailiwick_platform::{RequestContext, audit};
use bailiwick_policy::Caller;
use bailiwick_store::{
    Tx, mail_links,
    users::{self, OwnChange, lifecycle},
};

/// The body; absent and null are the same.
#[derive(Clone, Debug, Default)]
pub struct OwnInfo {
    pub name: Option<String>,
    pub email: Option<String>,
    /// `phone`; `""` removes it.
    pub phone: Option<String>,
}

/// Changes the caller's own name, address or phone; returns the names of the sent fields, as the answer lists them.
/// Another address wants a fresh sign-in.
pub async fn change_own_info(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    body: impl FnOnce() -> Result<OwnInfo>,
) -> Result<Vec<&'static str>> {
    let gone = || Error::unauthenticated("invalid token");
    let id = caller.user_id().ok_or_else(gone)?;
    let body = body()?;
    let updated = updated_fields(&body)?;
    let present = users::get(&service.platform.db, id).await?.ok_or_else(gone)?.user;
    if body.email.as_ref().is_some_and(|email| *email != present.email) {
        check_fresh_sign_in(&service.identity, caller)?;
    }
    let accepted = accept(service, id, sent(&body, &present)).await?;
    let mails = mails(service, caller, &present, accepted.email.as_str()).await?;
    let written = write(service, caller, ctx, id, (body, accepted)).await;
    mails.unless_failed(&service.events, written)?;
    mail::wake(&service.events);
    logto_sync::wake(&service.identity);
    Ok(updated)
}

async fn write(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    id: UserId,
    (body, accepted): (OwnInfo, Accepted),
) -> Result<()> {
    let gone = || Error::unauthenticated("invalid token");
    let mut tx = service.platform.db.begin().await?;
    let locked = users::lock(&mut tx, id).await?.ok_or_else(gone)?;
    // The user's rights have ended since the request was let in.
    if locked.standing.suspended || locked.standing.deleted {
        return Err(gone());
    }
    let before = locked.user;
    let sent = (body.email.clone(), None, body.phone.clone());
    let change = change(service, body, accepted, &before);
    let written = lifecycle::update_own(&mut tx, id, &change).await;
    // Another request may have taken a value since the fields were checked.
    written.map_err(|e| Error::from(e).with_values(&sent_values(&sent.0, &sent.1, &sent.2)))?;
    let after = users::get(&mut tx, id).await?.ok_or_else(gone)?.user;
    let event = audit::Event {
        action: AuditAction::UserChangeInfo,
        object_type: "user",
        object_id: id.0,
        before: Some(audited(&before)),
        after: Some(audited(&after)),
    };
    audit::record(&mut tx, change.at, caller, ctx, event).await?;
    let draft =
        EventDraft::user(Happening::Updated, &after).with_changes(&audited(&before), &audited(&after));
    draft.write(&mut tx, change.at).await?;
    if before.email != after.email {
        keep_previous(&mut tx, &before, &after.email).await?;
        mail::check_own_changes(&service.events, &mut tx, before.id, change.at).await?;
        mail::address_changed(&service.events, &mut tx, &before, &after.email, ChangedBy::Owner).await?;
    }
    logto_sync::user_changed(&service.identity, &mut tx, &before, &after).await?;
    Ok(tx.commit().await?)
}

/// Until the new address is confirmed, a link for a forgotten password goes to the last address that was not the user's
/// own unconfirmed choice (spec: openid-provider#endpoints, guarantees#identity rule 41).
async fn keep_previous(tx: &mut Tx, before: &User, email: &str) -> Result<()> {
    let previous =
        mail_links::addresses(&mut *tx, before.id).await?.and_then(|addresses| addresses.previous_email);
    let trusted = previous.filter(|_| !before.email_verified).unwrap_or_else(|| before.email.clone());
    let is_back = Email::key_of(&trusted) == Email::key_of(email);
    Ok(mail_links::set_previous(tx, before.id, Some(trusted.as_str()).filter(|_| !is_back)).await?)
}

/// Refuses a body without fields, or one that empties a required field.
fn updated_fields(body: &OwnInfo) -> Result<Vec<&'static str>> {
    let mut fields = Fields::new();
    let mut updated = Vec::new();
    let is_blank = |text: &Option<String>| text.as_deref().is_some_and(is_blank);
    if body.name.is_some() {
        updated.push("name");
    }
    if body.email.is_some() {
        updated.push("email");
    }
    if let Some(phone) = &body.phone {
        updated.push(if phone.is_empty() { "phone (removed)" } else { "phone" });
    }
    if updated.is_empty() {
        return Err(Error::bad_request("at least one field (name, email, or phone) must be provided"));
    }
    if is_blank(&body.name) {
        fields.push("name", "name cannot be empty", "");
    }
    if is_blank(&body.email) {
        fields.push("email", "email cannot be empty", "");
    }
    fields.finish()?;
    Ok(updated)
}

fn sent<'a>(body: &'a OwnInfo, user: &'a User) -> SentFields<'a> {
    SentFields {
        name: body.name.as_deref().unwrap_or(&user.name),
        email: body.email.as_deref().unwrap_or(&user.email),
        username: Some(&user.username),
        phone: body.phone.as_deref().or(user.phone.as_deref()),
        custom_data: None,
        present: Some(user),
        is_organization_active: true,
        organization_id: "",
    }
}

/// The sent fields over those of the locked row.
fn change(service: &Directory, body: OwnInfo, accepted: Accepted, before: &User) -> OwnChange {
    let email = match body.email {
        Some(_) => accepted.email,
        None => Email::stored(&before.email),
    };
    OwnChange {
        email_verified: before.email_verified && email.as_str() == before.email,
        email,
        name: body.name.unwrap_or_else(|| before.name.clone()),
        phone: if body.phone.is_some() { accepted.phone } else { before.phone.clone() },
        at: service.platform.now(),
    }
}
