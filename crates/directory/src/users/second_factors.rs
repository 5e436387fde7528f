//! DELETE `/users/{id}/second-factors` (spec: users#second-factors).

use super::{authorize_on_condition, load};
use crate::Directory;
use bailiwick_domain::{AuditAction, Result, UserId};
use bailiwick_events::mail;
use bailiwick_identity::factors;
use bailiwick_platform::{RequestContext, audit};
use bailiwick_policy::{Action, Caller};
use bailiwick_store::users;

/// Removes everything that a user has beside their password, ends their sessions and notifies them: for someone who has
/// lost it. The rules are those of setting their password. `id`: none = malformed.
///
/// # Errors
/// `user not found` and the refusals of the action; 403 where there are no second factors.
pub async fn reset_second_factors(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<UserId>,
) -> Result<()> {
    let placed = load(service, id).await?;
    let (granted, _) = authorize_on_condition(service, caller, ctx, Action::SetPassword, placed)?;
    let mut tx = service.platform.db.begin().await?;
    let locked = users::lock(&mut tx, granted.id()).await?;
    drop(authorize_on_condition(service, caller, ctx, Action::SetPassword, locked)?);
    let now = service.platform.now();
    factors::reset::reset(&service.identity, &mut tx, granted.id(), now).await?;
    let event = audit::Event {
        action: AuditAction::UserResetSecondFactors,
        object_type: "user",
        object_id: granted.id().0,
        before: None,
        after: None,
    };
    audit::record(&mut tx, now, caller, ctx, event).await?;
    tx.commit().await?;
    mail::wake(&service.events);
    Ok(())
}
