//! Suspend, reactivate, delete, restore, destroy (spec: users#effective-state, users#operations). A change that ends a
//! user's rights also ends the user's sessions in the same transaction, so that the very next request is refused on
//! every replica.

use super::{audited, authorize_on_condition, load};
use crate::{Directory, images};
use bailiwick_domain::{
    AuditAction, Error, Happening, Result, Ts, User, UserId,
    validate::{Email, Fields},
};
use bailiwick_events::EventDraft;
use bailiwick_identity::{
    auth::{Destroyed, Reason, end_impersonations_of_destroyed, revoke_user},
    logto_sync,
};
use bailiwick_platform::{RequestContext, audit};
use bailiwick_policy::{Action, Caller, Granted};
use bailiwick_store::{
    Tx, images as stored,
    users::{self, Placed, lifecycle},
};
use serde_json::{Value, json};

/// PATCH `/users/{id}/suspend`: also on top of an inherited suspension.
pub async fn suspend(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<UserId>,
) -> Result<()> {
    let mut allowed = AllowedChange::begin(service, caller, ctx, Action::Suspend, id).await?;
    if allowed.own().suspended.is_some() {
        return Err(Error::bad_request("user not found or already suspended"));
    }
    lifecycle::set_suspended(&mut allowed.tx, &allowed.target, Some(allowed.now), allowed.now).await?;
    revoke_user(&mut allowed.tx, allowed.now, allowed.target.id(), None, Reason::Suspended).await?;
    allowed.finish(service, caller, ctx, AuditAction::UserSuspend, Happening::Suspended).await
}

/// PATCH `/users/{id}/reactivate`: clears the own mark; earlier sessions stay invalid.
pub async fn reactivate(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<UserId>,
) -> Result<()> {
    let mut allowed = AllowedChange::begin(service, caller, ctx, Action::Reactivate, id).await?;
    if allowed.own().suspended.is_none() {
        return Err(Error::bad_request("user not found or not suspended"));
    }
    lifecycle::set_suspended(&mut allowed.tx, &allowed.target, None, allowed.now).await?;
    allowed.finish(service, caller, ctx, AuditAction::UserReactivate, Happening::Reactivated).await
}

/// DELETE `/users/{id}`: soft.
pub async fn delete(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<UserId>,
) -> Result<()> {
    let mut allowed = AllowedChange::begin(service, caller, ctx, Action::Delete, id).await?;
    let organization = allowed.before.organization.id;
    let deleted_at = Some(allowed.now);
    lifecycle::set_deleted(&mut allowed.tx, &allowed.target, organization, deleted_at, allowed.now).await?;
    revoke_user(&mut allowed.tx, allowed.now, allowed.target.id(), None, Reason::Deleted).await?;
    allowed.finish(service, caller, ctx, AuditAction::UserDelete, Happening::Deleted).await
}

/// PATCH `/users/{id}/restore`: clears the user's own deletion, if no other user has the address or phone meanwhile.
/// The user's own suspension stays.
pub async fn restore(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<UserId>,
) -> Result<()> {
    let mut allowed = AllowedChange::begin(service, caller, ctx, Action::Restore, id).await?;
    if allowed.own().deleted.is_none() {
        return Err(Error::bad_request("user is not deleted"));
    }
    still_free(&mut allowed.tx, &allowed.before, service.identity.logto.is_some()).await?;
    let organization = allowed.before.organization.id;
    let written =
        lifecycle::set_deleted(&mut allowed.tx, &allowed.target, organization, None, allowed.now).await;
    // Another request may have taken the address since the check above.
    let values = [("email", allowed.before.email.as_str())];
    written.map_err(|e| Error::from(e).with_values(&values))?;
    allowed.finish(service, caller, ctx, AuditAction::UserRestore, Happening::Restored).await
}

/// DELETE `/users/{id}/destroy`: permanent, for live and deleted users.
pub async fn destroy(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<UserId>,
) -> Result<()> {
    let mut allowed = AllowedChange::begin(service, caller, ctx, Action::Destroy, id).await?;
    let (organization, is_counted) = (allowed.before.organization.id, allowed.own().deleted.is_none());
    let destroyed = Destroyed::User(allowed.target.id());
    end_impersonations_of_destroyed(&mut allowed.tx, allowed.now, destroyed).await?;
    logto_sync::user_destroyed(&service.identity, &mut allowed.tx, allowed.target.id()).await?;
    let picture = stored::take_of_user(&mut allowed.tx, allowed.target.id()).await?;
    images::bury(service, &mut allowed.tx, picture.as_slice()).await?;
    lifecycle::destroy(&mut allowed.tx, &allowed.target, organization, is_counted).await?;
    allowed.finish(service, caller, ctx, AuditAction::UserDestroy, Happening::Destroyed).await?;
    service.objects.wake();
    Ok(())
}

/// The user's own marks.
struct Own {
    suspended: Option<Ts>,
    deleted: Option<Ts>,
}

/// A change of state that has been allowed on the held row.
struct AllowedChange {
    tx: Tx,
    target: Granted<UserId>,
    before: User,
    now: Ts,
}

impl AllowedChange {
    async fn begin(
        service: &Directory,
        caller: &Caller,
        ctx: &RequestContext,
        action: Action,
        id: Option<UserId>,
    ) -> Result<AllowedChange> {
        // A caller without permission neither waits for the row nor makes others wait.
        let (granted, _) = authorize_on_condition(service, caller, ctx, action, load(service, id).await?)?;
        let mut tx = service.platform.db.begin().await?;
        let locked = users::lock(&mut tx, granted.id()).await?;
        let (target, Placed { user, .. }) = authorize_on_condition(service, caller, ctx, action, locked)?;
        Ok(AllowedChange { tx, target, before: user, now: service.platform.now() })
    }

    /// A user's own mark takes precedence over an inherited one, which names its organization.
    fn own(&self) -> Own {
        let User { suspended, deleted, .. } = &self.before;
        Own {
            suspended: suspended.at.filter(|_| suspended.by.is_none()),
            deleted: deleted.at.filter(|_| deleted.by.is_none()),
        }
    }

    async fn finish(
        mut self,
        service: &Directory,
        caller: &Caller,
        ctx: &RequestContext,
        action: AuditAction,
        happening: Happening,
    ) -> Result<()> {
        let after = users::get(&mut self.tx, self.target.id()).await?;
        if after.is_some() {
            logto_sync::user_moved(&service.identity, &mut self.tx, self.target.id()).await?;
        }
        let event = audit::Event {
            action,
            object_type: "user",
            object_id: self.target.id().0,
            before: Some(marked(&self.before)),
            after: after.as_ref().map(|placed| marked(&placed.user)),
        };
        audit::record(&mut self.tx, self.now, caller, ctx, event).await?;
        let mut draft = EventDraft::user(happening, &self.before);
        if after.is_none() {
            draft = draft.without_subject();
        }
        draft.write(&mut self.tx, self.now).await?;
        self.tx.commit().await?;
        logto_sync::wake(&service.identity);
        Ok(())
    }
}

/// The fields that the audit keeps, with the effective marks.
fn marked(user: &User) -> Value {
    let mut value = audited(user);
    value["suspended_at"] = json!(user.suspended.at);
    value["deleted_at"] = json!(user.deleted.at);
    value
}

/// A deleted user loses the claim to the address, and to a phone where it is unique, but keeps the user name.
async fn still_free(tx: &mut Tx, user: &User, has_unique_phones: bool) -> Result<()> {
    let email = Email::stored(&user.email);
    let phone = user.phone.as_deref().filter(|_| has_unique_phones);
    let taken = users::taken(tx, user.id, None, Some(&email), phone).await?;
    let mut fields = Fields::new();
    if taken.email {
        fields.push("email", "already_exists", &user.email);
    }
    if taken.phone {
        fields.push("phone", "already_exists", user.phone.as_deref().unwrap_or_default());
    }
    fields.finish()
}
