//! Enables and disables rebranding and deletes stored values (spec: rebranding#operations). The gate has been passed
//! before.

use crate::{Directory, images, organizations::in_reach};
use bailiwick_domain::{AuditAction, Error, ObjectKind, OrgId, Result, Ts, rebranding::Asset};
use bailiwick_platform::{RequestContext, audit};
use bailiwick_policy::{Action, Caller, Granted, RebrandingChange, rebranding_gate};
use bailiwick_store::{Tx, organizations, rebranding as stored};
use serde_json::{Map, Value, json};

/// Enables rebranding; if it is enabled already, only `enabled_at` moves.
///
/// # Errors
/// `organization not found`; 400 for the owner organization.
pub async fn enable(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<OrgId>,
) -> Result<()> {
    switch(service, caller, ctx, id, RebrandingChange::Enable).await
}

/// Disables rebranding; stored values stay.
///
/// # Errors
/// `organization not found`.
pub async fn disable(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<OrgId>,
) -> Result<()> {
    switch(service, caller, ctx, id, RebrandingChange::Disable).await
}

async fn switch(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<OrgId>,
    change: RebrandingChange,
) -> Result<()> {
    let enabling = change == RebrandingChange::Enable;
    let mut tx = service.platform.db.begin().await?;
    let target = lock_organization(service, &mut tx, caller, id, change).await?;
    let owner = organizations::owner(&mut tx).await?;
    if enabling && owner == Some(target.id()) {
        return Err(Error::bad_request("cannot enable rebranding for owner organization"));
    }
    let before = stored::is_enabled(&mut tx, target.id()).await?;
    let now = service.platform.now();
    if enabling {
        stored::enable(&mut tx, &target, now).await?;
    } else {
        stored::disable(&mut tx, &target).await?;
    }
    let event = audit::Event {
        action: if enabling { AuditAction::RebrandingEnable } else { AuditAction::RebrandingDisable },
        object_type: "rebranding",
        object_id: target.id().0,
        before: Some(json!({"enabled": before})),
        after: Some(json!({"enabled": enabling})),
    };
    audit::record(&mut tx, now, caller, ctx, event).await?;
    Ok(tx.commit().await?)
}

/// The organization whose rebranding may be changed, locked against deletion until the transaction ends.
pub(super) async fn lock_organization(
    service: &Directory,
    tx: &mut Tx,
    caller: &Caller,
    id: Option<OrgId>,
    change: RebrandingChange,
) -> Result<Granted<OrgId>> {
    rebranding_gate(caller, change, service.settings.rebranding.organizations_manage_assets)?;
    if let Some(id) = id {
        organizations::hold(tx, id).await?;
    }
    in_reach(tx, caller, Action::Update, id).await
}

/// Removes everything stored for a product.
///
/// # Errors
/// `organization not found`; `rebranding product not found` when there is nothing.
pub async fn delete_product(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<OrgId>,
    product: &str,
) -> Result<()> {
    let mut tx = service.platform.db.begin().await?;
    let target = lock_organization(service, &mut tx, caller, id, RebrandingChange::Delete).await?;
    let missing = || Error::NotFound(ObjectKind::RebrandingProduct);
    check_id(product).ok_or_else(missing)?;
    let (removed, objects) = stored::remove_all(&mut tx, &target, product).await?;
    if removed == stored::Stored::default() {
        return Err(missing());
    }
    let before = audited(product, &removed.assets, removed.name.as_deref());
    record(
        &mut tx,
        service.platform.now(),
        (caller, ctx),
        AuditAction::RebrandingDelete,
        &target,
        (Some(before), None),
    )
    .await?;
    images::bury(service, &mut tx, &objects).await?;
    tx.commit().await?;
    service.objects.wake();
    Ok(())
}

/// Removes one asset.
///
/// # Errors
/// `organization not found`; 400 `invalid asset name`; `asset not found`.
pub async fn delete_asset(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    id: Option<OrgId>,
    (product, asset): (&str, &str),
) -> Result<()> {
    let mut tx = service.platform.db.begin().await?;
    let target = lock_organization(service, &mut tx, caller, id, RebrandingChange::Delete).await?;
    let asset = parse_asset(asset)?;
    let missing = || Error::NotFound(ObjectKind::Asset);
    check_id(product).ok_or_else(missing)?;
    let (removed, object) = stored::remove(&mut tx, &target, product, asset).await?.ok_or_else(missing)?;
    let before = audited(product, &[(asset, removed)], None);
    record(
        &mut tx,
        service.platform.now(),
        (caller, ctx),
        AuditAction::RebrandingDeleteAsset,
        &target,
        (Some(before), None),
    )
    .await?;
    images::bury(service, &mut tx, object.as_slice()).await?;
    tx.commit().await?;
    service.objects.wake();
    Ok(())
}

/// Whether a product can have this id, configured or not: stored values of a product that is no longer configured can
/// still be deleted.
fn check_id(product: &str) -> Option<()> {
    (!product.contains('\0') && product.len() <= 100).then_some(())
}

/// The asset of this name.
///
/// # Errors
/// 400 `invalid asset name`.
pub(super) fn parse_asset(asset: &str) -> Result<Asset> {
    Asset::parse(asset).ok_or_else(|| Error::bad_request("invalid asset name"))
}

/// The audit entry of a product: its files by their digests, never the files.
pub(super) fn audited(product: &str, assets: &[(Asset, String)], name: Option<&str>) -> Value {
    let assets: Map<String, Value> =
        assets.iter().map(|(asset, sha256)| (asset.as_str().to_owned(), json!(sha256))).collect();
    let mut audited = json!({"product_id": product, "assets": assets});
    if let Some(name) = name {
        audited["product_name"] = json!(name);
    }
    audited
}

pub(super) async fn record(
    tx: &mut Tx,
    now: Ts,
    (caller, ctx): (&Caller, &RequestContext),
    action: AuditAction,
    target: &Granted<OrgId>,
    (before, after): (Option<Value>, Option<Value>),
) -> Result<()> {
    let event = audit::Event { action, object_type: "rebranding", object_id: target.id().0, before, after };
    audit::record(tx, now, caller, ctx, event).await
}
