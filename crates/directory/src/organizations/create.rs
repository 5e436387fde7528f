//! Creation (spec: organizations#create): rule, body, attribution, fields, uniqueness, in this order.

use super::{Accepted, OrganizationBody, VAT, accept, audited};
use crate::Directory;
use bailiwick_domain::{AuditAction, Error, Happening, OrgId, OrgType, Organization, Result};
use bailiwick_events::EventDraft;
use bailiwick_identity::logto_sync;
use bailiwick_platform::{RequestContext, audit};
use bailiwick_policy::{Action, Caller, Granted, NewOrganization as NewPlace, Parent, Refusal, decide};
use bailiwick_store::organizations::{self, Editable, NewOrganization};

/// Creates an organization of a family below the caller's own, or below the one the body attributes it to.
pub async fn create(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    family: OrgType,
    body: impl FnOnce() -> Result<OrganizationBody>,
) -> Result<Organization> {
    decide(caller, Action::Create, &NewPlace { family, parent: Parent::Own }).granted()?;
    let body = body()?;
    let parent = attribute(service, caller, family, body.created_by_organization_id.as_deref()).await?;
    let new = checked(service, caller, family, &parent, body)?;
    write(service, caller, ctx, &parent, new).await
}

/// The parent: the caller's own organization or, if the caller may name one, the one named.
async fn attribute(
    service: &Directory,
    caller: &Caller,
    family: OrgType,
    requested_id: Option<&str>,
) -> Result<Granted<OrgId>> {
    let parent = match requested_id.filter(|n| !n.is_empty() && family != OrgType::Distributor) {
        None => Parent::Own,
        Some(requested_id) => Parent::Named(match requested_id.parse::<OrgId>() {
            Ok(id) => organizations::node(&service.platform.db, id).await?,
            Err(_) => None,
        }),
    };
    decide(caller, Action::Create, &NewPlace { family, parent }).granted()
}

fn checked(
    service: &Directory,
    caller: &Caller,
    family: OrgType,
    parent: &Granted<OrgId>,
    body: OrganizationBody,
) -> Result<NewOrganization> {
    let Accepted { details, custom_data, vat } = accept(body)?;
    let mut created_by = caller.creator();
    if let Some(creator) = created_by.as_mut().filter(|c| c.organization_id != Some(parent.id())) {
        // The name is added on reading, as for every creator.
        creator.organization_id = Some(parent.id());
        creator.on_behalf_of = true;
    }
    Ok(NewOrganization {
        id: service.platform.fresh(),
        org_type: family,
        details,
        vat,
        custom_data,
        created_by,
        at: service.platform.now(),
    })
}

async fn write(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    parent: &Granted<OrgId>,
    mut new: NewOrganization,
) -> Result<Organization> {
    let mut tx = service.platform.db.begin().await?;
    if let Some(creator) = new.created_by.as_mut().filter(|c| c.on_behalf_of) {
        // The last known name, for the time after that organization was destroyed.
        let attributed = organizations::get(&mut tx, parent.id()).await?;
        creator.organization_name = attributed.map(|o| o.details.name).unwrap_or_default();
    }
    let vat = new.vat.as_ref().map(|v| v.as_str().to_owned()).unwrap_or_default();
    let written = organizations::insert(&mut tx, Some(parent), &new).await;
    if !written.map_err(|e| Error::from(e).with_values(&[(VAT, &vat)]))? {
        // Deleted between the decision and the write.
        return Err(Refusal::AttributionScope.into());
    }
    let after = Editable { details: new.details, vat: Some(vat), custom_data: new.custom_data };
    let event = audit::Event {
        action: AuditAction::OrganizationCreate(new.org_type),
        object_type: new.org_type.as_str(),
        object_id: new.id.0,
        before: None,
        after: Some(audited(&after)),
    };
    audit::record(&mut tx, new.at, caller, ctx, event).await?;
    let draft = EventDraft::organization(Happening::Created, new.org_type, new.id, &after.details.name);
    draft.with(serde_json::json!({"parent_id": parent.id()})).write(&mut tx, new.at).await?;
    logto_sync::organization_created(&service.identity, &mut tx, new.id).await?;
    let created = organizations::get(&mut tx, new.id).await?;
    tx.commit().await?;
    logto_sync::wake(&service.identity);
    created.ok_or_else(|| Error::internal("a new organization cannot be read back"))
}
