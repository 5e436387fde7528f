//! An organization at the tenant: made once, then changed.

use super::{
    Mirror, aspect, names,
    worker::{Outcome, Stop},
};
use crate::App;
use bailiwick_domain::{OrgId, OrgType, Organization, org::shown_custom_data};
use bailiwick_outbound::logto::{LogtoError, MirroredOrganization};
use bailiwick_store::{
    logto::{self, outbox},
    organizations,
};
use serde_json::json;

/// Key under which customData has the id here, by which a repeated creation finds the earlier one.
pub(super) const LOCAL_ID: &str = "bailiwickId";

/// What the tenant gets of an organization.
pub(super) fn mirrored(o: Organization) -> MirroredOrganization {
    let mut custom_data = shown_custom_data(o.custom_data, o.org_type, o.parent_id, o.created_at, None);
    custom_data.insert(LOCAL_ID.to_owned(), json!(o.id));
    MirroredOrganization { name: o.name, description: o.description, custom_data }
}

/// Tells of an organization as it is now.
pub(super) async fn deliver(app: &App, mirror: &Mirror, id: OrgId, aspects: i64) -> Result<Outcome, Stop> {
    let Some(organization) = organizations::get(&app.db, id).await? else { return Ok(Outcome::Done) };
    let (org_type, from) =
        (organization.org_type, organization.promoted_from.as_ref().map(|from| from.level));
    let (linked, creating_at) = logto::organization(&app.db, mirror.issuer(), id).await?;
    let Some(theirs) = linked else {
        let Some(theirs) = create(app, mirror, organization, creating_at.is_some()).await? else {
            return Ok(Outcome::Done);
        };
        give_jit_role(app, mirror, &theirs, org_type, None).await?;
        return Ok(Outcome::Done);
    };
    if aspects & aspect::PROFILE != 0 {
        let body = mirrored(organization);
        mirror.client.update_organization(&theirs, &body).await.map_err(|error| match error {
            LogtoError::Missing => gone(),
            other => Stop::Logto(other),
        })?;
    }
    if aspects & aspect::TYPE != 0 {
        give_jit_role(app, mirror, &theirs, org_type, from).await?;
    }
    Ok(Outcome::Done)
}

/// The organization was removed there; a reconciliation makes it anew.
fn gone() -> Stop {
    let fields = vec![("organization".to_owned(), "not_found".to_owned())];
    Stop::Logto(LogtoError::Refused(bailiwick_outbound::logto::Refusal { status: 404, fields, code: None }))
}

/// Makes it there, unless an earlier try has; its id there. None when it is gone here meanwhile.
async fn create(
    app: &App,
    mirror: &Mirror,
    organization: Organization,
    is_repeated: bool,
) -> Result<Option<String>, Stop> {
    let (id, issuer, name) = (organization.id, mirror.issuer(), organization.name.clone());
    let body = mirrored(organization);
    let earlier = if is_repeated { find(mirror, id, &name).await? } else { None };
    let theirs = match earlier {
        Some(theirs) => theirs,
        None => {
            if !begin(app, mirror, id).await? {
                return Ok(None);
            }
            mirror.client.create_organization(&body).await.map_err(Stop::Logto)?
        }
    };
    let mut tx = app.db.begin().await?;
    let is_there = organizations::hold(&mut tx, id).await?.is_some();
    if is_there {
        logto::link_organization(&mut tx, issuer, id, &theirs).await?;
    } else {
        outbox::put_gone_organization(&mut tx, issuer, app.fresh(), &theirs, app.now()).await?;
    }
    tx.commit().await?;
    Ok(is_there.then_some(theirs))
}

/// Remembers that a creation is under way; false when the organization is gone.
async fn begin(app: &App, mirror: &Mirror, id: OrgId) -> Result<bool, Stop> {
    let mut tx = app.db.begin().await?;
    if organizations::hold(&mut tx, id).await?.is_none() {
        return Ok(false);
    }
    logto::organization_creating(&mut tx, mirror.issuer(), id, app.now()).await?;
    tx.commit().await?;
    Ok(true)
}

/// What an earlier creation has made. Only our own id tells: never the name.
async fn find(mirror: &Mirror, id: OrgId, name: &str) -> Result<Option<String>, Stop> {
    let found = match mirror.client.find_organization(name).await {
        Ok(found) => found,
        Err(LogtoError::Missing) => return Ok(None),
        Err(error) => return Err(Stop::Logto(error)),
    };
    let ours = id.to_string();
    let own = found.into_iter().find(|o| o.custom_data[LOCAL_ID].as_str() == Some(&ours));
    Ok(own.map(|o| o.id))
}

/// Who joins by himself gets the role of the type; afterwards no longer that of the type before a promotion.
async fn give_jit_role(
    app: &App,
    mirror: &Mirror,
    theirs: &str,
    org_type: OrgType,
    from: Option<OrgType>,
) -> Result<(), Stop> {
    let name = org_type.role_name();
    let known = names::known(app, mirror, |names| names.organization_role(name).is_some()).await;
    let known = known.map_err(Stop::Logto)?;
    let Some(role) = known.organization_role(name) else { return Err(no_role()) };
    mirror.client.add_jit_role(theirs, role).await.map_err(Stop::Logto)?;
    if let Some(old) = from.and_then(|from| known.organization_role(from.role_name())) {
        mirror.client.remove_jit_role(theirs, old).await.map_err(Stop::Logto)?;
    }
    Ok(())
}

/// The tenant has no role of that name.
pub(super) fn no_role() -> Stop {
    let fields = vec![("organization_role".to_owned(), "not_found".to_owned())];
    Stop::Logto(LogtoError::Refused(bailiwick_outbound::logto::Refusal { status: 422, fields, code: None }))
}
