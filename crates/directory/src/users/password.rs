//! PATCH `/users/{id}/password` (spec: users#operations).

use super::{authorize_on_condition, load};
use crate::Directory;
use bailiwick_domain::{
    AuditAction, Error, ObjectKind, Result, UserId,
    validate::{self, Fields},
};
use bailiwick_identity::{
    logto_sync::passwords as there,
    passwords::{self, Origin, PasswordLocation},
};
use bailiwick_platform::{RequestContext, audit};
use bailiwick_policy::{Action, Caller};
use bailiwick_store::users;

/// Sets another user's password, which needs no replacement, and ends all sessions of that user.
pub async fn set_password(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<UserId>,
    body: impl FnOnce() -> Result<Option<String>>,
) -> Result<()> {
    let placed = load(service, id).await?;
    let (granted, _) = authorize_on_condition(service, caller, ctx, Action::SetPassword, placed)?;
    passwords::check_mode(&service.identity)?;
    let password = body()?.unwrap_or_default();
    let mut fields = Fields::new();
    fields.check_secret("password", validate::password(&password));
    fields.finish()?;
    // The tenant's password is set now, outside any transaction.
    let location = match &service.identity.logto {
        Some(logto) => {
            PasswordLocation::AtTenant(there::account(&service.identity, logto, granted.id()).await?)
        }
        None => PasswordLocation::Local(String::new()),
    };
    let id = granted.id();
    let (whole, caller, ctx) = (service.clone(), caller.clone(), ctx.clone());
    let setting = async move {
        let service = &whole;
        let prepared = passwords::prepare(&service.identity, &password, &location).await?;
        let mut tx = service.platform.db.begin().await?;
        let locked = users::lock(&mut tx, id).await?;
        // The tenant has already set the password, so permissions are not checked again.
        match location {
            PasswordLocation::AtTenant(_) => drop(locked.ok_or(Error::NotFound(ObjectKind::User))?),
            PasswordLocation::Local(_) => {
                drop(authorize_on_condition(service, &caller, &ctx, Action::SetPassword, locked)?);
            }
        }
        let (now, hash) = (service.platform.now(), prepared.hash.as_deref());
        if !passwords::set_password(&mut tx, now, id, hash, Origin::Chosen, None).await? {
            return Err(Error::NotFound(ObjectKind::User));
        }
        let event = audit::Event {
            action: AuditAction::UserPassword,
            object_type: "user",
            object_id: id.0,
            before: None,
            after: None,
        };
        audit::record(&mut tx, now, &caller, &ctx, event).await?;
        tx.commit().await?;
        prepared.into_result()
    };
    passwords::to_its_end(&service.identity, setting).await
}
