//! Promotion of a reseller to distributor (spec: organizations#promotion).

use super::{VAT, alert_tenants, authorize_change, shown};
use crate::Directory;
use bailiwick_domain::{
    AuditAction, Error, Happening, OrgId, OrgType, Organization, Result, Ts, org::PromotedFrom,
};
use bailiwick_events::EventDraft;
use bailiwick_identity::{
    impersonation::{Changed, end_of_changed},
    logto_sync,
};
use bailiwick_platform::{
    RequestContext, audit,
    retry_on_conflict::{Aborted, retry_on_conflict},
};
use bailiwick_policy::{Action, Caller, Granted};
use bailiwick_store::{
    StoreError, Tx,
    epoch::AffectedSystems,
    events::subscriptions,
    organizations::{self, destroy::hold_rows, lifecycle, promote as stored},
};
use serde_json::json;

const FAMILY: OrgType = OrgType::Reseller;

/// The result of a promotion.
#[derive(Clone, Debug)]
pub struct Promotion {
    /// The distributor.
    pub organization: Organization,
    /// The organization above it until now.
    pub detached_from: OrgId,
    /// The one above it from now on.
    pub parent: OrgId,
    /// The numbers of objects that moved along.
    pub numbers: stored::Promoted,
}

/// Turns a reseller into a distributor below the owner, with everything that belongs to it. Users of the organizations
/// formerly above it lose access with the commit: every request reads the tree again, and cached system credentials,
/// which carry their organization, are reloaded. `id`: none = malformed.
pub async fn promote(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<OrgId>,
) -> Result<Promotion> {
    let id = authorize_change(&service.platform.db, service, caller, ctx, Action::Promote, (FAMILY, id))
        .await?
        .id();
    let done = retry_on_conflict("a promotion", || attempt(service, caller, ctx, id)).await?;
    Ok(Promotion { organization: shown(service, caller, done.organization).await?, ..done })
}

async fn attempt(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    id: OrgId,
) -> Result<Promotion, Aborted> {
    let missing = || Error::NotFound(FAMILY.into());
    let now = service.platform.now();
    let mut tx = service.platform.db.begin().await?;
    // Moves of users and requests of systems lock their own rows first, so this must too.
    hold_rows(&mut tx, id, FAMILY).await?;
    let locked = lifecycle::hold_subtree(&mut tx, id).await?.ok_or_else(missing)?;
    // The decision above may be outdated, so it is repeated on the locked rows.
    let target = authorize_change(&mut tx, service, caller, ctx, Action::Promote, (FAMILY, Some(id))).await?;
    if locked.suspended.is_set() {
        return Err(suspended().into());
    }
    let before = organizations::get(&mut tx, id).await?.ok_or_else(missing)?;
    let detached_from = before.parent_id.ok_or_else(|| Error::internal("a reseller without a parent"))?;
    let owner = organizations::owner(&mut tx).await?.ok_or_else(|| Error::internal("there is no owner"))?;
    let from = PromotedFrom {
        level: FAMILY,
        at: now,
        detached_from_organization_id: detached_from,
        by: caller.creator(),
    };
    let by = caller.org().map(|o| o.id);
    let written = stored::promote(&mut tx, &target, owner, &from, now, by).await;
    let numbers = written.map_err(|e| match e {
        e if e.unique_field().is_some() => {
            Error::from(e).with_values(&[(VAT, before.vat.as_deref().unwrap_or_default())]).into()
        }
        e => Aborted::Store(e),
    })?;
    // It is a distributor by now.
    alert_tenants::queue(service, &mut tx, id, OrgType::Distributor).await?;
    logto_sync::organization_promoted(&service.identity, &mut tx, id).await?;
    disable_subscriptions(&mut tx, &target, now, caller, ctx).await?;
    tx.bump_auth_epoch(AffectedSystems::All).await?;
    end_of_changed(&service.identity, &mut tx, now, Changed::Promoted(id)).await?;
    let event = audit::Event {
        action: AuditAction::ResellerPromote,
        object_type: FAMILY.as_str(),
        object_id: id.0,
        before: Some(json!({ "type": FAMILY.as_str(), "parent_id": detached_from })),
        after: Some(json!({ "type": OrgType::Distributor.as_str(), "parent_id": owner })),
    };
    audit::record(&mut tx, now, caller, ctx, event).await?;
    EventDraft::organization_gone(Happening::Left, &before, detached_from).write(&mut tx, now).await?;
    let organization = organizations::get(&mut tx, id).await?.ok_or_else(missing)?;
    let subject = format!("/distributors/{id}");
    EventDraft::organization(Happening::Promoted, FAMILY, id, &before.details.name)
        .with_subject(subject)
        .write(&mut tx, now)
        .await?;
    tx.commit().await?;
    logto_sync::wake(&service.identity);
    Ok(Promotion { organization, detached_from, parent: owner, numbers })
}

/// Event subscriptions of the organizations formerly above it are disabled: they must not receive its events any more.
async fn disable_subscriptions(
    tx: &mut Tx,
    target: &Granted<OrgId>,
    now: Ts,
    caller: &Caller,
    ctx: &RequestContext,
) -> Result<(), StoreError> {
    const REASON: &str = "the organization that named the address is not above any more";
    let disabled = subscriptions::disable_named_from_outside(tx, target, now, REASON).await?;
    let event = audit::Event {
        action: AuditAction::EventSubscriptionDisable,
        object_type: "event_subscription",
        object_id: target.id().0,
        before: Some(json!({"enabled": true})),
        after: Some(json!({"enabled": false, "reason": REASON})),
    };
    audit::record_of_all(tx, now, caller, ctx, event, &disabled).await
}

fn suspended() -> Error {
    let errors = json!([{ "key": "promote", "message": "organization_is_suspended" }]);
    Error::Conflict { message: "validation failed".into(), data: json!({ "errors": errors }) }
}
