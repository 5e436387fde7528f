//! Destruction for good (spec: organizations#destruction).

use super::{alert_tenants, authorize_change};
use crate::Directory;
use bailiwick_domain::{Error, OrgId, OrgType, Result};
use bailiwick_events::Told;
use bailiwick_identity::{
    auth::{Destroyed, end_impersonations_of_destroyed},
    mirror,
};
use bailiwick_platform::{
    RequestContext, audit,
    retry_on_conflict::{Aborted, retry_on_conflict},
};
use bailiwick_policy::{Action, Caller};
use bailiwick_store::{
    backups, images,
    organizations::{self, destroy as stored, marks},
};
use serde_json::json;

/// Removes an organization of a family with everything below it, in whatever state. `id`: none = malformed.
pub async fn destroy(
    app: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    family: OrgType,
    id: Option<OrgId>,
) -> Result<()> {
    let seen = authorize_change(&app.db, app, caller, ctx, Action::Destroy, (family, id)).await?.id();
    retry_on_conflict("a destruction", || attempt(app, caller, ctx, family, seen)).await?;
    app.objects.wake();
    mirror::wake(app);
    Ok(())
}

async fn attempt(
    app: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    family: OrgType,
    id: OrgId,
) -> Result<(), Aborted> {
    let mut tx = app.db.begin().await?;
    stored::hold_rows(&mut tx, id, family).await?;
    marks::hold_subtree(&mut tx, id).await?.ok_or(Error::NotFound(family.as_str()))?;
    // What was decided before may have changed until the rows were held.
    let target = authorize_change(&mut tx, app, caller, ctx, Action::Destroy, (family, Some(id))).await?;
    let last = organizations::get(&mut tx, id).await?.ok_or(Error::NotFound(family.as_str()))?;
    let mut objects = backups::objects_below(&mut tx, id, family).await?;
    objects.extend(images::take_below(&mut tx, id, family).await?);
    backups::bury(&mut tx, &objects, app.now(), || app.fresh()).await?;
    alert_tenants::queue_removal(app, &mut tx, id, family).await?;
    mirror::organization_destroyed(app, &mut tx, id, family).await?;
    end_impersonations_of_destroyed(&mut tx, app.now(), Destroyed::Below(id, family)).await?;
    stored::destroy(&mut tx, &target, family, app.now()).await?;
    // Cached credentials of its systems are looked up again and not found.
    tx.bump_auth_epoch().await?;
    let event = audit::Event {
        action: &format!("{}.destroy", family.as_str()),
        object_type: family.as_str(),
        object_id: id.0,
        before: Some(json!({ "name": last.name, "vat": last.vat, "parent_id": last.parent_id })),
        after: None,
    };
    audit::record(&mut tx, app.now(), caller, ctx, event).await?;
    if let Some(above) = last.parent_id {
        Told::organization_gone("destroyed", &last, above).write(&mut tx, app.now()).await?;
    }
    Ok(tx.commit().await?)
}
