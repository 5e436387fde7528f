//! Audit rows of the use cases: the person who acted, the object, and its state before and after.

use crate::{Platform, RequestContext};
use bailiwick_domain::{AuditAction, Error, ObjectKind, OrgId, Result, Ts, UserId};
use bailiwick_policy::Caller;
use bailiwick_store::{StoreError, Tx, audit, identities, impersonation::sessions::Session};
use serde_json::{Value, json};
use uuid::Uuid;

pub use bailiwick_store::audit::{Filter, Recorded};

/// Rows read at a time.
const PAGE: u64 = 500;

/// An action on an object. Secrets never go into `before` or `after`.
#[derive(Debug)]
pub struct Event<'a> {
    /// `<object type>.<verb>`: `customer.create`.
    pub action: AuditAction,
    /// Type of the object: `customer`, `user`, `system`.
    pub object_type: &'a str,
    pub object_id: Uuid,
    /// State before, as far as it changed.
    pub before: Option<Value>,
    /// State after.
    pub after: Option<Value>,
}

/// Writes the row of an action in the transaction of the change.
///
/// # Errors
/// The database's.
pub async fn record(
    tx: &mut Tx,
    now: Ts,
    caller: &Caller,
    ctx: &RequestContext,
    event: Event<'_>,
) -> Result<()> {
    Ok(audit::record(tx, entry(now, caller, ctx, event)).await?)
}

/// Writes the same row for each of several objects, instead of the one that the event names.
///
/// # Errors
/// The database's.
pub async fn record_of_all(
    tx: &mut Tx,
    now: Ts,
    caller: &Caller,
    ctx: &RequestContext,
    event: Event<'_>,
    objects: &[Uuid],
) -> Result<(), StoreError> {
    audit::record_of_all(tx, entry(now, caller, ctx, event), objects).await
}

fn entry<'a>(now: Ts, caller: &Caller, ctx: &'a RequestContext, event: Event<'a>) -> audit::AuditRecord<'a> {
    // While impersonating, the person is the impersonator and the rights are those of the caller's user.
    let impersonator = caller.acting_for();
    audit::AuditRecord {
        actor_user_id: impersonator.or(caller.user_id()),
        acting_for_user_id: impersonator.and(caller.user_id()),
        actor_organization_id: caller.org().map(|o| o.id),
        ..unattended(now, ctx, event)
    }
}

/// The row of an action that nobody is named for.
fn unattended<'a>(now: Ts, ctx: &'a RequestContext, event: Event<'a>) -> audit::AuditRecord<'a> {
    audit::AuditRecord {
        at: now,
        actor_user_id: None,
        acting_for_user_id: None,
        actor_organization_id: None,
        action: event.action,
        object_type: event.object_type,
        object_id: Some(event.object_id),
        before: event.before,
        after: event.after,
        request_id: Some(&ctx.request_id),
    }
}

/// Writes the row of an action of a user on their own account. The row holds nothing of a password or link.
///
/// # Errors
/// The database's.
pub async fn record_own(
    tx: &mut Tx,
    now: Ts,
    ctx: &RequestContext,
    user: UserId,
    organization: OrgId,
    action: AuditAction,
) -> Result<()> {
    record_own_with(tx, now, ctx, (user, organization), action, None).await
}

/// Records an own change with its details.
///
/// # Errors
/// The database's.
pub async fn record_own_with(
    tx: &mut Tx,
    now: Ts,
    ctx: &RequestContext,
    (user, organization): (UserId, OrgId),
    action: AuditAction,
    after: Option<Value>,
) -> Result<()> {
    let entry = audit::AuditRecord {
        at: now,
        actor_user_id: Some(user),
        acting_for_user_id: None,
        actor_organization_id: Some(organization),
        action,
        object_type: "user",
        object_id: Some(user.0),
        before: None,
        after,
        request_id: Some(&ctx.request_id),
    };
    Ok(audit::record(tx, entry).await?)
}

/// Writes the row of the start or the end of an impersonation: the person is the impersonator, the rights are those
/// of the impersonated user, whose organization is named; none once they are destroyed.
///
/// # Errors
/// The database's.
pub async fn record_impersonation(
    tx: &mut Tx,
    now: Ts,
    ctx: &RequestContext,
    (session, organization): (&Session, Option<OrgId>),
    action: AuditAction,
) -> Result<(), StoreError> {
    let entry = audit::AuditRecord {
        at: now,
        actor_user_id: Some(session.impersonator.id),
        acting_for_user_id: Some(session.impersonated.id),
        actor_organization_id: organization,
        action,
        object_type: "impersonation",
        object_id: Some(session.id.0),
        before: None,
        after: Some(
            json!({"impersonated_user_id": session.impersonated.id, "expires_at": session.expires_at}),
        ),
        request_id: Some(&ctx.request_id),
    };
    audit::record(tx, entry).await
}

/// Writes the row of an action of a system with its own credential: no person acts, and the object is the system
/// itself.
///
/// # Errors
/// The database's.
pub async fn record_unattended(tx: &mut Tx, now: Ts, ctx: &RequestContext, event: Event<'_>) -> Result<()> {
    Ok(audit::record(tx, unattended(now, ctx, event)).await?)
}

/// The user that an operator names by id or by address.
///
/// # Errors
/// `user not found` for an address that no user has. An id may be that of a destroyed user.
pub async fn actor(platform: &Platform, id_or_address: &str) -> Result<UserId> {
    if let Ok(id) = id_or_address.parse() {
        return Ok(id);
    }
    let user = identities::by_email(&platform.db, id_or_address).await?;
    user.map(|(user, _)| user.id).ok_or(Error::NotFound(ObjectKind::User))
}

/// Passes at most `limit` rows to `each`, the newest first and a page at a time, until `each` returns false.
///
/// # Errors
/// The database's.
pub async fn read(
    platform: &Platform,
    filter: &Filter,
    limit: u64,
    mut each: impl FnMut(&[Recorded]) -> bool,
) -> Result<()> {
    let (mut left, mut after) = (limit, None);
    while left > 0 {
        let rows = audit::page(&platform.db, filter, after, left.min(PAGE)).await?;
        let Some(last) = rows.last() else { break };
        after = Some((last.at, last.id));
        left = left.saturating_sub(rows.len() as u64);
        if !each(&rows) {
            break;
        }
    }
    Ok(())
}
