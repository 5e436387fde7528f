//! PUT (spec: organizations#update): absent fields stay, and `custom_data` is merged over the stored keys.

use super::{OrganizationBody, VAT, audited, authorize_change, details, shown};
use crate::Directory;
use bailiwick_domain::{
    AuditAction, Error, Happening, OrgId, OrgType, Organization, Result,
    validate::{Fields, organization_custom_data},
};
use bailiwick_events::EventDraft;
use bailiwick_identity::logto_sync;
use bailiwick_platform::{RequestContext, audit};
use bailiwick_policy::{Action, Caller};
use bailiwick_store::{
    Tx,
    epoch::AffectedSystems,
    organizations::{self, Change, Editable},
};

/// Changes an organization of a family. `id`: none = malformed.
pub async fn update(
    service: &Directory,
    caller: &Caller,
    ctx: &RequestContext,
    family: OrgType,
    id: Option<OrgId>,
    body: impl FnOnce() -> Result<OrganizationBody>,
) -> Result<Organization> {
    authorize_change(&service.platform.db, service, caller, ctx, Action::Update, (family, id)).await?;
    let body = body()?;
    let mut tx = service.platform.db.begin().await?;
    let locked = match id {
        Some(id) => organizations::lock(&mut tx, id).await?,
        None => None,
    };
    let before = locked.ok_or(Error::NotFound(family.into()))?;
    // The decision above may be outdated, so it is repeated on the locked row.
    let target = authorize_change(&mut tx, service, caller, ctx, Action::Update, (family, id)).await?;
    let change = changed(service, caller, &before, body)?;
    let written = organizations::update(&mut tx, &target, &change).await;
    written.map_err(|e| Error::from(e).with_values(&[(VAT, change.vat.as_str())]))?;
    follow_labels(&mut tx, &before, &change).await?;
    let after = Editable {
        details: change.details,
        vat: Some(change.vat.as_str().to_owned()),
        custom_data: change.custom_data,
    };
    let event = audit::Event {
        action: AuditAction::OrganizationUpdate(family),
        object_type: family.as_str(),
        object_id: target.id().0,
        before: Some(audited(&before)),
        after: Some(audited(&after)),
    };
    audit::record(&mut tx, change.at, caller, ctx, event).await?;
    let draft = EventDraft::organization(Happening::Updated, family, target.id(), &after.details.name);
    draft.with_changes(&audited(&before), &audited(&after)).write(&mut tx, change.at).await?;
    let updated = organizations::get(&mut tx, target.id()).await?;
    logto_sync::organization_changed(&service.identity, &mut tx, target.id()).await?;
    tx.commit().await?;
    logto_sync::wake(&service.identity);
    shown(service, caller, updated.ok_or(Error::NotFound(family.into()))?).await
}

fn changed(
    service: &Directory,
    caller: &Caller,
    before: &Editable,
    mut body: OrganizationBody,
) -> Result<Change> {
    let mut fields = Fields::new();
    let details = details(&mut fields, &before.details, &mut body);
    let sent = body.custom_data.unwrap_or_default();
    let (custom_data, vat) = organization_custom_data(&mut fields, before.custom_data.clone(), sent);
    fields.finish()?;
    let vat = vat.ok_or_else(|| Error::internal("an accepted organization has no VAT number"))?;
    let by = caller.org().map(|o| o.id);
    Ok(Change { details, vat, custom_data, at: service.platform.now(), by })
}

/// Name and VAT number are labels of every alert of the organization's systems, and are cached with their credentials.
async fn follow_labels(tx: &mut Tx, before: &Editable, change: &Change) -> Result<()> {
    if before.details.name != change.details.name || before.vat.as_deref() != Some(change.vat.as_str()) {
        tx.bump_auth_epoch(AffectedSystems::All).await?;
    }
    Ok(())
}
