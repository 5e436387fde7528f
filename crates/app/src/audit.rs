//! Audit rows of the use cases: who acted, on what, what it was before and after.

use crate::{App, context::RequestContext};
use bailiwick_domain::{Error, OrgId, Result, Ts, UserId};
use bailiwick_policy::Caller;
use bailiwick_store::{StoreError, Tx, audit, identities, impersonation::sessions::Session};
use serde_json::{Value, json};
use uuid::Uuid;

pub use bailiwick_store::audit::{Filter, Recorded};

/// Rows read at a time.
const PAGE: u64 = 500;

/// What happened. Secrets never go into `before` or `after`.
#[derive(Debug)]
pub struct Event<'a> {
    /// `<object type>.<what>`: `customer.create`.
    pub action: &'a str,
    /// What the object is: `customer`, `user`, `system`.
    pub object_type: &'a str,
    /// The object.
    pub object_id: Uuid,
    /// State before, as far as it changed.
    pub before: Option<Value>,
    /// State after.
    pub after: Option<Value>,
}

/// Writes the row in the transaction of the change.
pub async fn record(
    tx: &mut Tx,
    now: Ts,
    caller: &Caller,
    ctx: &RequestContext,
    event: Event<'_>,
) -> Result<()> {
    Ok(audit::record(tx, entry(now, caller, ctx, event)).await?)
}

/// The same row for each of a number of objects, in place of the one that the event names.
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

fn entry<'a>(now: Ts, caller: &Caller, ctx: &'a RequestContext, event: Event<'a>) -> audit::Entry<'a> {
    // While impersonating, the person is the impersonator and the rights are those of the caller's user.
    let impersonator = caller.acting_for();
    audit::Entry {
        at: now,
        actor_user_id: impersonator.or(caller.user_id()),
        acting_for_user_id: impersonator.and(caller.user_id()),
        actor_organization_id: caller.org().map(|o| o.id),
        action: event.action,
        object_type: event.object_type,
        object_id: Some(event.object_id),
        before: event.before,
        after: event.after,
        request_id: Some(&ctx.request_id),
    }
}

/// The same for what a user does with his own account; nothing of a password or link is kept.
pub async fn record_own(
    tx: &mut Tx,
    now: Ts,
    ctx: &RequestContext,
    user: UserId,
    organization: OrgId,
    action: &'static str,
) -> Result<()> {
    let entry = audit::Entry {
        at: now,
        actor_user_id: Some(user),
        acting_for_user_id: None,
        actor_organization_id: Some(organization),
        action,
        object_type: "user",
        object_id: Some(user.0),
        before: None,
        after: None,
        request_id: Some(&ctx.request_id),
    };
    Ok(audit::record(tx, entry).await?)
}

/// The start and the end of an impersonation: the person is the impersonator, the rights those of the other.
pub(crate) async fn record_impersonation(
    tx: &mut Tx,
    now: Ts,
    ctx: &RequestContext,
    session: &Session,
    action: &'static str,
) -> Result<(), StoreError> {
    let entry = audit::Entry {
        at: now,
        actor_user_id: Some(session.impersonator.id),
        acting_for_user_id: Some(session.impersonated.id),
        actor_organization_id: None,
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

/// The same for what a system does with its own credential: no person acts, the object is the system itself.
pub async fn record_unattended(tx: &mut Tx, now: Ts, ctx: &RequestContext, event: Event<'_>) -> Result<()> {
    let entry = audit::Entry {
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
    };
    Ok(audit::record(tx, entry).await?)
}

/// The user an operator names by id or by address.
///
/// # Errors
/// `user not found` for an address nobody has; an id may be that of a destroyed user.
pub async fn actor(app: &App, named: &str) -> Result<UserId> {
    if let Ok(id) = named.parse() {
        return Ok(id);
    }
    let found = identities::by_email(&app.db, named).await?;
    found.map(|(user, _)| user.id).ok_or(Error::NotFound("user"))
}

/// Hands out at most `limit` rows, the newest first and a page at a time, until `each` has had enough.
pub async fn read(
    app: &App,
    filter: &Filter,
    limit: u64,
    mut each: impl FnMut(&[Recorded]) -> bool,
) -> Result<()> {
    let (mut left, mut after) = (limit, None);
    while left > 0 {
        let rows = audit::page(&app.db, filter, after, left.min(PAGE)).await?;
        let Some(last) = rows.last() else { break };
        after = Some((last.at, last.id));
        left = left.saturating_sub(rows.len() as u64);
        if !each(&rows) {
            break;
        }
    }
    Ok(())
}
