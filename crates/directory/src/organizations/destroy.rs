//! Permanent destruction (spec: organizations#destruction).

use super::{alert_tenants, authorize_change};
use crate::Directory;
use bailiwick_domain::{AuditAction, Error, Happening, OrgId, OrgType, Result};
use bailiwick_events::EventDraft;
use bailiwick_identity::{
    auth::{Destroyed, check_fresh_sign_in, end_impersonations_of_destroyed},
    logto_sync,
};
use bailiwick_platform::{
    RequestContext, audit,
    retry_on_conflict::{Aborted, retry_on_conflict},
};
use bailiwick_policy::{Action, Caller};
use bailiwick_store::{
    backups,
    epoch::AffectedSystems,
    images,
    organizations::{self, destroy as stored, lifecycle},
};
use serde_json::json;

/// Removes an organization of a family with everything below it, in whatever state. `id`: none = malformed.
pub async fn destroy(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    family: OrgType,
    id: Option<OrgId>,
) -> Result<()> {
    let id = authorize_change(&service.platform.db, service, caller, ctx, Action::Destroy, (family, id))
        .await?
        .id();
    check_fresh_sign_in(&service.identity, caller)?;
    retry_on_conflict("a destruction", || attempt(service, caller, ctx, family, id)).await?;
    service.objects.wake();
    logto_sync::wake(&service.identity);
    Ok(())
}

async fn attempt(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    family: OrgType,
    id: OrgId,
) -> Result<(), Aborted> {
    let mut tx = service.platform.db.begin().await?;
    stored::hold_rows(&mut tx, id, family).await?;
    lifecycle::hold_subtree(&mut tx, id).await?.ok_or(Error::NotFound(family.into()))?;
    // The first decision may be outdated, so it is repeated on the locked rows.
    let target = authorize_change(&mut tx, service, caller, ctx, Action::Destroy, (family, Some(id))).await?;
    let last = organizations::get(&mut tx, id).await?.ok_or(Error::NotFound(family.into()))?;
    let mut objects = backups::objects_below(&mut tx, id, family).await?;
    objects.extend(images::take_below(&mut tx, id, family).await?);
    backups::bury(&mut tx, &objects, service.platform.now(), || service.platform.fresh()).await?;
    alert_tenants::queue_removal(service, &mut tx, id, family).await?;
    logto_sync::organization_destroyed(&service.identity, &mut tx, id, family).await?;
    end_impersonations_of_destroyed(&mut tx, service.platform.now(), Destroyed::Below(id, family)).await?;
    stored::destroy(&mut tx, &target, family, service.platform.now()).await?;
    // Processes that have cached credentials of its systems must reload them, and find none.
    tx.bump_auth_epoch(AffectedSystems::All).await?;
    let event = audit::Event {
        action: AuditAction::OrganizationDestroy(family),
        object_type: family.as_str(),
        object_id: id.0,
        before: Some(json!({ "name": last.details.name, "vat": last.vat, "parent_id": last.parent_id })),
        after: None,
    };
    audit::record(&mut tx, service.platform.now(), caller, ctx, event).await?;
    if let Some(above) = last.parent_id {
        EventDraft::organization_gone(Happening::Destroyed, &last, above)
            .write(&mut tx, service.platform.now())
            .await?;
    }
    Ok(tx.commit().await?)
}
