//! An organization at the tenant: created once, then updated.

use super::{
    LogtoSync, aspect, names, refused,
    worker::{Outcome, Stop},
};
use crate::Identity;
use bailiwick_domain::{OrgId, OrgType, Organization, exact, org::shown_custom_data};
use bailiwick_outbound::logto::{LogtoError, LogtoOrganizationFields};
use bailiwick_store::{
    logto::{
        self,
        outbox::{self, OutboxKind},
    },
    organizations,
};
use serde_json::json;

/// The key in customData for the id here, by which a repeated creation finds the earlier one.
pub(super) const LOCAL_ID: &str = "bailiwickId";

/// The fields of an organization at the tenant.
pub(super) fn mirrored(o: Organization) -> LogtoOrganizationFields {
    let mut custom_data =
        shown_custom_data(exact::rounded(o.custom_data), o.org_type, o.parent_id, o.created_at, None);
    custom_data.insert(LOCAL_ID.to_owned(), json!(o.id));
    LogtoOrganizationFields { name: o.details.name, description: o.details.description, custom_data }
}

/// Sends the organization's current state.
pub(super) async fn deliver(
    service: &Identity,
    logto: &LogtoSync,
    id: OrgId,
    aspects: i64,
) -> Result<Outcome, Stop> {
    let Some(organization) = organizations::get(&service.platform.db, id).await? else {
        return Ok(Outcome::Done);
    };
    let (org_type, from) =
        (organization.org_type, organization.promoted_from.as_ref().map(|from| from.level));
    let there = logto::organization(&service.platform.db, logto.issuer(), id).await?;
    let (provider_id, aspects, from) = match there.id.clone() {
        Some(provider_id) => (provider_id, aspects, from),
        None => {
            // A deleted organization is not created. One whose creation has an unknown outcome may exist.
            if organization.deleted.is_set() && !there.is_creating {
                return Ok(Outcome::Nothing);
            }
            match create(service, logto, organization.clone(), there).await? {
                None => return Ok(Outcome::Nothing),
                Some(Made { provider_id, is_found: true }) => (provider_id, aspect::ORGANIZATION, from),
                Some(Made { provider_id, is_found: false }) => (provider_id, aspect::TYPE, None),
            }
        }
    };
    if aspects == 0 {
        return Ok(Outcome::Nothing);
    }
    if aspects & aspect::PROFILE != 0 {
        let body = mirrored(organization);
        logto.client.update_organization(&provider_id, &body).await.map_err(|error| match error {
            LogtoError::Missing => gone(),
            other => Stop::Logto(other),
        })?;
    }
    if aspects & aspect::TYPE != 0 {
        give_jit_role(service, logto, &provider_id, org_type, from).await?;
    }
    Ok(Outcome::Done)
}

/// The organization was removed at the tenant; a reconciliation creates it again.
fn gone() -> Stop {
    refused(404, "organization", "not_found")
}

/// An organization that was created at the tenant, or found again.
struct Made {
    /// Its id there.
    provider_id: String,
    /// An earlier creation made it, so it may differ from its present state here.
    is_found: bool,
}

/// Creates it at the tenant, unless an earlier try has. None when there is none to create: it is deleted or destroyed
/// here.
async fn create(
    service: &Identity,
    logto: &LogtoSync,
    organization: Organization,
    there: logto::TenantOrganization,
) -> Result<Option<Made>, Stop> {
    let (id, name, is_deleted) =
        (organization.id, organization.details.name.clone(), organization.deleted.is_set());
    if there.is_creating {
        let searched = there.creating_name.as_deref().unwrap_or(&name);
        if let Some(provider_id) = find(logto, id, searched).await? {
            let provider_id = link(service, logto, id, provider_id).await?;
            return Ok(provider_id.map(|provider_id| Made { provider_id, is_found: true }));
        }
    }
    if is_deleted {
        forget(service, logto, id).await?;
        return Ok(None);
    }
    let body = mirrored(organization);
    if !begin(service, logto, id, &name).await? {
        return Ok(None);
    }
    let provider_id = match logto.client.create_organization(&body).await {
        Ok(provider_id) => provider_id,
        Err(error) => {
            match error {
                LogtoError::Refused(_) => forget(service, logto, id).await?,
                _ => leave(service, logto, id, &name).await?,
            }
            return Err(Stop::Logto(error));
        }
    };
    let provider_id = link(service, logto, id, provider_id).await?;
    Ok(provider_id.map(|provider_id| Made { provider_id, is_found: false }))
}

/// Stores its id at the tenant. None when it was destroyed here meanwhile. Refused when another organization here has
/// that id: a retry would fail the same way.
async fn link(
    service: &Identity,
    logto: &LogtoSync,
    id: OrgId,
    provider_id: String,
) -> Result<Option<String>, Stop> {
    let issuer = logto.issuer();
    let mut tx = service.platform.db.begin().await?;
    let is_there = organizations::hold(&mut tx, id).await?.is_some();
    if is_there {
        if !logto::link_organization(&mut tx, issuer, id, &provider_id).await? {
            logto::organization_not_created(&mut tx, issuer, id).await?;
            tx.commit().await?;
            return Err(refused(422, "organization", "already_exists"));
        }
    } else {
        outbox::put_gone_organization(
            &mut tx,
            issuer,
            service.platform.fresh(),
            &provider_id,
            service.platform.now(),
        )
        .await?;
    }
    tx.commit().await?;
    Ok(is_there.then_some(provider_id))
}

/// Records that a creation is under way. False when the organization no longer exists.
async fn begin(service: &Identity, logto: &LogtoSync, id: OrgId, name: &str) -> Result<bool, Stop> {
    let mut tx = service.platform.db.begin().await?;
    if organizations::hold(&mut tx, id).await?.is_none() {
        return Ok(false);
    }
    logto::organization_creating(&mut tx, logto.issuer(), id, service.platform.now(), name).await?;
    tx.commit().await?;
    Ok(true)
}

/// Nothing was created, so no later search may find anything.
async fn forget(service: &Identity, logto: &LogtoSync, id: OrgId) -> Result<(), Stop> {
    let mut tx = service.platform.db.begin().await?;
    logto::organization_not_created(&mut tx, logto.issuer(), id).await?;
    Ok(tx.commit().await?)
}

/// The outcome of the creation is unknown. If the organization was destroyed meanwhile, no later attempt would look for
/// it, so this queues a search for it.
async fn leave(service: &Identity, logto: &LogtoSync, id: OrgId, name: &str) -> Result<(), Stop> {
    let mut tx = service.platform.db.begin().await?;
    if organizations::hold(&mut tx, id).await?.is_none() {
        let gone = (OutboxKind::GoneOrganization, id.0);
        outbox::put_gone_unknown(&mut tx, logto.issuer(), gone, name, service.platform.now()).await?;
        tx.commit().await?;
    }
    Ok(())
}

/// An organization made by an earlier creation. Only our own id identifies it, never the name.
pub(super) async fn find(logto: &LogtoSync, id: OrgId, name: &str) -> Result<Option<String>, Stop> {
    let organizations = logto.client.find_organization(name).await.map_err(Stop::Logto)?;
    let local_id = id.to_string();
    let own = organizations.into_iter().find(|o| o.custom_data[LOCAL_ID].as_str() == Some(&local_id));
    Ok(own.map(|o| o.id))
}

/// Users who join by themselves get the role of the type. After a promotion, the role of the former type is removed.
async fn give_jit_role(
    service: &Identity,
    logto: &LogtoSync,
    provider_id: &str,
    org_type: OrgType,
    from: Option<OrgType>,
) -> Result<(), Stop> {
    let name = org_type.role_name();
    let names = names::load(service, logto, |names| names.organization_role(name).is_some()).await;
    let mut names = names.map_err(Stop::Logto)?;
    loop {
        let Some(role) = names.organization_role(name) else { return Err(no_role()) };
        match logto.client.add_jit_role(provider_id, role).await {
            Ok(()) => break,
            Err(error) => match names::anew(service, logto, &names, error).await {
                Ok(renewed) => names = renewed,
                // Either the organization or the role does not exist.
                Err(LogtoError::Missing) => {
                    let there = logto.client.organization(provider_id).await.map_err(Stop::Logto)?;
                    return Err(if there.is_none() { gone() } else { no_role() });
                }
                Err(error) => return Err(Stop::Logto(error)),
            },
        }
    }
    if let Some(old) = from.and_then(|from| names.organization_role(from.role_name())) {
        logto.client.remove_jit_role(provider_id, old).await.map_err(Stop::Logto)?;
    }
    Ok(())
}

/// The tenant has no role of that name.
pub(super) fn no_role() -> Stop {
    refused(422, "organization_role", "not_found")
}
