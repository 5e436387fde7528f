//! Destruction for good (contract 02 §6.5).

use super::authorize;
use crate::{App, audit, context::RequestContext};
use bailiwick_domain::{Error, OrgId, OrgType, Result};
use bailiwick_policy::{Action, Caller};
use bailiwick_store::organizations::{self, destroy as stored, marks};
use serde_json::json;

/// Removes an organization of a family with everything below it, in whatever state. `id`: none = malformed.
pub async fn destroy(
    app: &App,
    caller: &Caller,
    ctx: &RequestContext,
    family: OrgType,
    id: Option<OrgId>,
) -> Result<()> {
    let seen = authorize(&app.db, caller, Action::Destroy, family, id).await?.id();
    let mut tx = app.db.begin().await?;
    marks::hold_subtree(&mut tx, seen).await?.ok_or(Error::NotFound(family.as_str()))?;
    // What was decided above may have changed before the rows were held.
    let target = authorize(&mut tx, caller, Action::Destroy, family, id).await?;
    let last = organizations::get(&mut tx, seen).await?.ok_or(Error::NotFound(family.as_str()))?;
    stored::destroy(&mut tx, &target, family).await?;
    // Cached credentials of its systems are looked up again and not found.
    tx.bump_auth_epoch().await?;
    let event = audit::Event {
        action: &format!("{}.destroy", family.as_str()),
        object_type: family.as_str(),
        object_id: seen.0,
        before: Some(json!({ "name": last.name, "vat": last.vat, "parent_id": last.parent_id })),
        after: None,
    };
    audit::record(&mut tx, app.now(), caller, ctx, event).await?;
    tx.commit().await?;
    Ok(())
}
